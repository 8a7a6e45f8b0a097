import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'

const path = '/api/admin/preferences'
let app: TestApp
let token: string
beforeAll(async () => {
  app = await createTestApp()
  token = await app.adminToken()
})
afterAll(() => app[Symbol.asyncDispose]())

describe('admin › preferences', () => {
  const get = async () => (await app.request('GET', path, { token })).json
  const patch = (body: object) => app.request('PATCH', path, { token, body })

  test('begin with the defaults, and keep what a change does not name', async () => {
    expect(await get()).toEqual({ theme: 'system', foldedGroups: [], lastTable: null })
    const changed = { theme: 'dark', foldedGroups: [], lastTable: null }
    expect((await patch({ theme: 'dark' })).json).toEqual(changed)
    const answers = await Promise.all([patch({ foldedGroups: ['Files'] }), patch({ lastTable: 'note' })])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await get()).toEqual({ theme: 'dark', foldedGroups: ['Files'], lastTable: 'note' })
    expect((await patch({})).json).toEqual({ theme: 'dark', foldedGroups: ['Files'], lastTable: 'note' })
  })

  test('reject other values, and name the member', async () => {
    const refused = await patch({ theme: 'pink' })
    expect([refused.status, JSON.stringify(envelope(refused))]).toEqual([
      400,
      expect.stringContaining('theme'),
    ])
    expect((await patch({ foldedGroups: Array.from({ length: 21 }, String) })).status).toBe(400)
    expect((await patch({ lastTable: 'x'.repeat(201) })).status).toBe(400)
    expect((await patch({ lastTable: 'a\u0000b' })).status).toBe(400)
    expect(await get()).toMatchObject({ theme: 'dark', lastTable: 'note' })
  })
})
