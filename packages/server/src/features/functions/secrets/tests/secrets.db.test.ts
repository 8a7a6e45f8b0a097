import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { Notifications } from '../../../../database/notifications/notifications.ts'
import { createSecretBox } from '../../../../lib/secret-box.ts'
import { SecretStore } from '../secret-store.ts'

let app: TestApp
const value = 'sk_live_5ecret'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
const firstKey = Buffer.alloc(32, 1)
const secondKey = Buffer.alloc(32, 2)

beforeAll(async () => {
  app = await createTestApp({ config: { 'auth.encryption_key': firstKey.toString('hex') } })
})
afterAll(() => app[Symbol.asyncDispose]())
afterEach(() => app.sql('delete from basalt.secrets'))

async function request(method: string, name: string, body?: unknown, token?: string) {
  const path = `/api/admin/secrets${name === '' ? '' : `/${name}`}`
  return await app.request(method, path, { token: token ?? (await app.adminToken()), body })
}

async function readAudit(): Promise<object[]> {
  return await app.sql(`
    with gone as (delete from basalt.audit where action like 'secrets.%' returning *)
    select action, target, detail from gone order by id`)
}

/** Opens the store of another node, with the keys. */
async function openStore(...keys: readonly [Buffer, ...Buffer[]]) {
  const { system, openListener } = app.app.database
  const log = pino({ level: 'silent' })
  const notifications = new Notifications({ database: system, openListener, log })
  const store = new SecretStore({ database: system, notifications, box: () => createSecretBox(keys), log })
  await notifications.start()
  return { store, [Symbol.asyncDispose]: () => notifications.stop() }
}

describe('/api/admin/secrets', () => {
  test('stores a secret encrypted, lists it without its value, and removes it', async () => {
    await readAudit()
    const { status, json } = await request('PUT', 'STRIPE_KEY', { value })
    expect([status, json]).toEqual([200, { name: 'STRIPE_KEY', updatedAt: timestamp }])
    expect((await request('PUT', 'A', { value: 'another value' })).status).toBe(200)
    expect((await request('GET', '')).json).toEqual({
      items: [
        { name: 'A', updatedAt: timestamp },
        { name: 'STRIPE_KEY', updatedAt: timestamp },
      ],
      count: 2,
    })
    const [row] = await app.sql(`select value from basalt.secrets where name = 'STRIPE_KEY'`)
    expect(row?.value).toMatch(/^[\w-]{8}\.[\w-]+$/)
    const removed = await request('DELETE', 'A')
    expect([removed.status, removed.text]).toEqual([204, ''])
    expect((await request('GET', '')).json.count).toBe(1)
    const audit = await readAudit()
    expect(audit).toEqual([
      { action: 'secrets.set', target: 'STRIPE_KEY', detail: {} },
      { action: 'secrets.set', target: 'A', detail: {} },
      { action: 'secrets.unset', target: 'A', detail: {} },
    ])
    expect(app.log.join('\n')).not.toContain(value)
  })

  test.each([
    ['PUT', '1A', { value }, 400, 'invalid_secret_name'],
    ['PUT', 'A-B', { value }, 400, 'invalid_secret_name'],
    ['PUT', 'A'.repeat(101), { value }, 400, 'invalid_secret_name'],
    ['DELETE', 'A%20B', undefined, 400, 'invalid_secret_name'],
    ['PUT', 'A', {}, 400, 'missing_secret_value'],
    ['PUT', 'A', { value: 1 }, 400, 'invalid_request'],
    ['PUT', 'A', { value: 'short12' }, 400, 'invalid_secret_value'],
    ['PUT', 'A', { value: 'x'.repeat(32_769) }, 400, 'invalid_secret_value'],
    ['PUT', 'A', { value: 'with NUL \0' }, 400, 'invalid_secret_value'],
    ['PUT', 'A', { value: 'half a pair \ud800' }, 400, 'invalid_secret_value'],
    ['DELETE', 'NONE', undefined, 404, 'secret_not_found'],
  ])('%s %s refuses %j', async (method, name, body, status, error) => {
    const response = await request(method, name, body)
    expect(envelope(response)).toMatchObject({ code: status, error })
    expect(response.text).not.toContain(value)
    expect(await app.sql('select from basalt.secrets')).toEqual([])
  })

  test('is closed to users', async () => {
    const token = userToken({ sub: alice })
    for (const [method, name] of [
      ['GET', ''],
      ['PUT', 'A'],
      ['DELETE', 'A'],
    ] as const) {
      expect((await request(method, name, method === 'PUT' ? { value } : undefined, token)).status).toBe(401)
    }
  })

  test('stores one of ten values set at once, and never more than 200 secrets', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => request('PUT', 'SAME', { value: `the value ${index}` })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    await app.sql(
      `insert into basalt.secrets (name, value) select 'N' || i, 'x' from generate_series(1, 195) i`,
    )
    const more = await Promise.all(
      Array.from({ length: 10 }, (_, index) => request('PUT', `MORE_${index}`, { value })),
    )
    expect(more.map(({ status }) => status).toSorted()).toEqual([
      ...Array(4).fill(200),
      ...Array(6).fill(409),
    ])
    expect(envelope(more.find(({ status }) => status === 409) as (typeof more)[number])).toEqual({
      code: 409,
      error: 'too_many_secrets',
      message: 'there are 200 secrets already',
    })
    // A stored secret can still be replaced.
    expect((await request('PUT', 'SAME', { value })).status).toBe(200)
  })
})

describe('nodes', () => {
  test('another node has new values and redacts them, and replaced ones for calls in flight', async () => {
    await using other = await openStore(firstKey)
    await request('PUT', 'KEY', { value })
    await waitFor('the value', () => other.store.all().get('KEY') === value)
    expect(other.store.redact(`failed with ${value}`)).toBe('failed with [KEY]')
    await request('PUT', 'KEY', { value: 'rotated value' })
    await waitFor('the rotated value', () => other.store.all().get('KEY') === 'rotated value')
    expect(other.store.redact(`${value}, rotated value`)).toBe('[KEY], [KEY]')
    await request('DELETE', 'KEY')
    await waitFor('no value', () => other.store.all().size === 0)
    expect(other.store.redact(`${value}, rotated value`)).toBe('[KEY], [KEY]')
  })

  test('seals values under a new key, and opens no value that was moved to another name', async () => {
    await request('PUT', 'KEY', { value })
    await request('PUT', 'OTHER', { value: 'another value' })
    await app.sql(`update basalt.secrets set value = (select value from basalt.secrets where name = 'KEY')
      where name = 'OTHER'`)
    {
      await using rotated = await openStore(secondKey, firstKey)
      await waitFor('the value', () => rotated.store.all().get('KEY') === value)
      expect([...rotated.store.all().keys()]).toEqual(['KEY'])
    }
    await using later = await openStore(secondKey)
    await waitFor('the value', () => later.store.all().get('KEY') === value)
  })
})

describe('nodes with another key', () => {
  test('keep the values that they know until others are set', async () => {
    await request('PUT', 'KEY', { value })
    await request('PUT', 'OTHER', { value: 'another value' })
    await using before = await openStore(firstKey)
    await waitFor('the value', () => before.store.all().get('KEY') === value)
    await using after = await openStore(secondKey, firstKey)
    await waitFor('the new key', async () => {
      const keys = await app.sql('select distinct left(value, 8) as key from basalt.secrets')
      return keys.length === 1 && after.store.all().size === 2
    })
    await app.sql("delete from basalt.secrets where name = 'OTHER'")
    await waitFor('the deletion', () => before.store.all().size === 1)
    expect(before.store.all().get('KEY')).toBe(value)
    await app.sql("update basalt.secrets set updated_at = now() where name = 'KEY'")
    await waitFor('the other value', () => before.store.all().size === 0)
  })
})

describe('basalt secrets', () => {
  async function run(args: readonly string[], input?: string) {
    const env = { BASALT_URL: app.url, BASALT_ADMIN_TOKEN: await app.adminToken() }
    return await basaltHere(['secrets', ...args], { env, ...(input === undefined ? {} : { input }) })
  }

  test('sets a value from standard input, lists and unsets it', async () => {
    expect(await run(['set', 'KEY'], `${value}\n`)).toEqual({ code: 0, stdout: 'KEY is set\n', stderr: '' })
    await using other = await openStore(firstKey)
    await waitFor('the value without its line break', () => other.store.all().get('KEY') === value)
    const { stdout } = await run(['list', '--json'])
    expect(JSON.parse(stdout)).toEqual([{ name: 'KEY', updatedAt: timestamp }])
    expect((await run(['list'])).stdout).toMatch(/^name +updated *\n[- ]+\nKEY +\d{4}-/)
    expect(await run(['unset', 'KEY'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await run(['unset', 'KEY'])).toEqual({ code: 1, stdout: '', stderr: 'basalt: secret not found\n' })
  })

  test('accepts no value as an argument, and shows none in an error', async () => {
    const extra = await run(['set', 'KEY', value], '')
    expect([extra.code, extra.stdout]).toEqual([2, ''])
    expect(extra.stderr).not.toContain(value)
    const short = await run(['set', 'KEY'], 'short')
    expect(short).toMatchObject({ code: 1, stdout: '' })
    expect(short.stderr).toContain('invalid value')
  })
})
