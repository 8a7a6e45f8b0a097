import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApplication } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { defaultAppId } from '../../../../http/access/identity.ts'

let app: TestApp
let admin: string
const unknownId = '99999999-9999-4999-8999-999999999999'

beforeAll(async () => {
  app = await createTestApp()
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
  admin = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

const send = (method: string, path = '', body?: unknown) =>
  app.request(method, `/api/admin/apps${path}`, { token: admin, body })
const invalid = (message: string) => ({ code: 400, message, error: 'invalid_app' })
const missing = { code: 404, message: 'app not found', error: 'app_not_found' }

describe('/api/admin/apps', () => {
  test('creates, reads, lists, replaces and deletes apps', async () => {
    const made = await send('POST', '', { name: ' shop ', description: 'sells', ownerUserId: alice })
    expect(made.status).toBe(201)
    const created = made.json
    expect(created).toEqual({
      id: expect.any(String),
      name: 'shop',
      description: 'sells',
      ownerUserId: alice,
      rateLimitRps: 0,
      rateLimitWindowSeconds: 60,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: created.createdAt,
    })
    expect((await send('GET', `/${created.id}`)).json).toEqual(created)
    const replacement = { name: 'store', rateLimitRps: 5, rateLimitWindowSeconds: 10, ownerUserId: unknownId }
    const replaced = {
      ...created,
      ...replacement,
      ownerUserId: alice,
      description: '',
      updatedAt: expect.any(String),
    }
    expect((await send('PUT', `/${created.id}`, replacement)).json).toEqual(replaced)
    const listed = (await send('GET', '?perPage=1')).json
    expect(listed).toMatchObject({ items: [replaced], page: 1, perPage: 1 })
    expect(listed.totalPages).toBe(listed.totalItems)
    expect((await send('DELETE', `/${created.id}`)).status).toBe(204)
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', replacement]] as const)
      expect(envelope(await send(method, `/${created.id}`, body))).toEqual(missing)
  })

  test('PUT keeps a missing limit, and reads 0 seconds as 60', async () => {
    const id = await createApplication(app, {
      ownerUserId: alice,
      rateLimitRps: 7,
      rateLimitWindowSeconds: 5,
    })
    expect((await send('PUT', `/${id}`, { name: 'a' })).json).toMatchObject({
      rateLimitRps: 7,
      rateLimitWindowSeconds: 5,
    })
    expect((await send('PUT', `/${id}`, { name: 'a', rateLimitWindowSeconds: 0 })).json).toMatchObject({
      rateLimitRps: 7,
      rateLimitWindowSeconds: 60,
    })
  })

  test.each([
    [{ ownerUserId: alice }, 'name is required'],
    [{ name: ' ', ownerUserId: alice }, 'name is required'],
    [{ name: 'n'.repeat(201), ownerUserId: alice }, 'name: at most 200 characters'],
    [{ name: 'a\0', ownerUserId: alice }, 'name: NUL is not allowed'],
    [{ name: 'a\ud800', ownerUserId: alice }, 'name: expected well-formed Unicode'],
    [{ name: 'a' }, 'ownerUserId is required'],
    [{ name: 'a', ownerUserId: 'x' }, 'invalid ownerUserId format'],
    [{ name: 'a', ownerUserId: unknownId }, 'owner user not found'],
    [{ name: 'a', ownerUserId: alice, rateLimitRps: -1 }, 'rate limit values must be non-negative'],
  ])('POST rejects %j: %s', async (body, message) => {
    expect(envelope(await send('POST', '', body))).toEqual(invalid(message))
  })

  test.each([
    [{}, 'name is required'],
    [{ name: 'a', rateLimitWindowSeconds: -1 }, 'rate limit values must be non-negative'],
  ])('PUT rejects %j: %s', async (body, message) => {
    const id = await createApplication(app, { ownerUserId: alice })
    expect(envelope(await send('PUT', `/${id}`, body))).toEqual(invalid(message))
  })

  test('rejects malformed and unknown ids', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const body = method === 'PUT' ? { name: 'a' } : undefined
      expect(envelope(await send(method, '/x', body))).toEqual(invalid('invalid app id format'))
      expect(envelope(await send(method, `/${unknownId}`, body))).toEqual(missing)
    }
  })

  test('limits a list to a page within bounds', async () => {
    for (const [query, page, perPage] of [
      ['', 1, 20],
      ['?page=0&perPage=1000', 1, 100],
      ['?page=-1&perPage=0', 1, 1],
      ['?page=3&perPage=2', 3, 2],
    ] as const) {
      expect((await send('GET', query)).json).toMatchObject({ page, perPage })
    }
  })

  test('has a default app, which cannot be deleted', async () => {
    const { json } = await send('GET', `/${defaultAppId}`)
    const [migrated] = await app.sql(
      `select max(applied_at) as at from basalt.migrations where name ~ 'programs'`,
    )
    expect(json).toMatchObject({ name: 'default', ownerUserId: null })
    expect([json.createdAt, json.updatedAt]).toEqual([migrated?.at.toISOString(), migrated?.at.toISOString()])
    expect(envelope(await send('DELETE', `/${defaultAppId}`))).toEqual({
      code: 409,
      message: 'the default app cannot be deleted',
      error: 'default_app_kept',
    })
    await expect(app.sql('delete from basalt.apps')).rejects.toThrow('the default app cannot be deleted')
  })

  test('deletes an app once for ten concurrent requests', async () => {
    const id = await createApplication(app, { ownerUserId: alice })
    const responses = await Promise.all(Array.from({ length: 10 }, () => send('DELETE', `/${id}`)))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)])
  })

  test('keeps an app whose owner is deleted', async () => {
    const [owner] = await app.sql<{ id: string }>('insert into basalt.users default values returning id')
    const id = await createApplication(app, { ownerUserId: owner?.id ?? '' })
    await app.sql('delete from basalt.users where id = $1', [owner?.id])
    expect((await send('GET', `/${id}`)).json.ownerUserId).toBeNull()
  })

  test('writes an audit row for every change', async () => {
    const id = await createApplication(app, { ownerUserId: alice })
    await send('PUT', `/${id}`, { name: 'a', rateLimitRps: 3 })
    await send('DELETE', `/${id}`)
    const rows = await app.sql(
      'select action, detail from basalt.audit where target = $1 order by happened_at',
      [id],
    )
    expect(rows).toEqual([
      { action: 'apps.create', detail: { name: 'app', rateLimitRps: 0, rateLimitWindowSeconds: 60 } },
      { action: 'apps.update', detail: { name: 'a', rateLimitRps: 3, rateLimitWindowSeconds: 60 } },
      { action: 'apps.delete', detail: {} },
    ])
  })
})
