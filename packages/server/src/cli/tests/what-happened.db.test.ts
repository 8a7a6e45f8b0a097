import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommandResult } from '../../../test/command.ts'
import { basaltHere, createTerminal } from '../../../test/terminal.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { main } from '../../main.ts'

const alice = 'a11ce000-0000-4000-8000-000000000001'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    insert into basalt.usage_hours (app_id, hour, requests, bytes_in, bytes_out)
    values ('00000000-0000-0000-0000-000000000000', '2026-03-04T05:00:00Z', 7, 70, 700);
    insert into basalt.logs (logged_at, level, message, attrs, node, request_id) values
      ('2026-03-04T05:06:07Z', 30, 'listening', '{}', 'web/1', null),
      ('2026-03-04T05:06:08Z', 40, E'request\\x1b failed', '{"reason":"full"}', 'web/1', 'request-0001');
    insert into basalt.audit (happened_at, actor, action, operation, table_name, record_id, user_id, request_id) values
      ('2026-03-04T05:06:08Z', 'user', 'rows.update', 'UPDATE', 'note', '4', '${alice}', 'request-0001');`)
})
afterAll(() => database[Symbol.asyncDispose]())

function environment() {
  return { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
}

function run(...args: string[]): Promise<CommandResult> {
  return basaltHere(args, { env: environment() })
}

/** Returns the length of the longest chunk that a command writes. */
async function longestPiece(...args: string[]): Promise<number> {
  const terminal = createTerminal(args, { env: environment() })
  let longest = 0
  terminal.stdout.on('data', (piece: Buffer) => {
    longest = Math.max(longest, piece.length)
  })
  await main(terminal)
  expect([terminal.exitCode ?? 0, terminal.output.stderr]).toEqual([0, ''])
  return longest
}

describe('basalt usage', () => {
  test('prints the usage of apps within a span', async () => {
    const { code, stdout } = await run('usage', '--from', '2026-03-01', '--to', '2026-03-31')
    expect(code).toBe(0)
    expect(stdout.split('\n')[2]).toMatch(/^default +7 +70 +700 +0 +0 +0 +0$/)
    const json = await run('usage', '--from', '2026-03-01', '--to', '2026-03-31', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'default', api_requests: 7 }])
  })

  test('exits with 2 for an invalid span', async () => {
    expect(await run('usage', '--period', 'year')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'basalt: invalid period or date range\n',
    })
  })
})

describe('basalt logs', () => {
  test('prints entries, the oldest first, without controls', async () => {
    const { stdout } = await run('logs')
    expect(stdout).toBe(
      '2026-03-04T05:06:07.000Z INFO  web/1 listening\n' +
        '2026-03-04T05:06:08.000Z WARN  web/1 request\\x1b failed {"reason":"full"} (request request-0001)\n',
    )
  })

  test('filters, and prints a JSON object per line', async () => {
    const { stdout } = await run('logs', '--request-id', 'request-0001', '--level', 'warn', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ level: 'warn', node: 'web/1', requestId: 'request-0001' })
    expect((await run('logs', '--query', 'nothing')).stdout).toBe('')
    expect((await run('logs', '--level', 'loud')).code).toBe(2)
  })

  test('prints the requested number of entries, even more than a request of the API returns', async () => {
    await database.sql(`
      insert into basalt.logs (logged_at, level, message, attrs, node, request_id)
      select '2026-03-05T00:00:00Z'::timestamptz + n * interval '1 s', 30, 'many', '{}', 'web/1', null
      from generate_series(1, 1200) n`)
    const { stdout } = await run('logs', '--query', 'many', '--limit', '1100')
    expect(stdout.split('\n')).toHaveLength(1101)
    await database.sql(`delete from basalt.logs where message = 'many'`)
  })

  test('writes page by page, in order and each entry once, for any number', async () => {
    await database.sql(`
      insert into basalt.logs (logged_at, level, message, attrs, node)
      select '2026-03-05T00:00:00Z'::timestamptz + n / 3 * interval '1 us', 30, 'page ' || n,
        jsonb_build_object('text', repeat('x', 500)), 'web/1'
      from generate_series(1, 5000) n`)
    const args = ['logs', '--query', 'page', '--limit', '4500', '--json']
    const { stdout } = await run(...args)
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(
      Array.from({ length: 4500 }, (_, index) => `page ${index + 501}`),
    )
    expect(await longestPiece(...args)).toBeLessThan(1024 * 1024)
    await database.sql(`delete from basalt.logs where message like 'page %'`)
  })
})

describe('basalt logs --follow', () => {
  test('prints new entries, filtered, until it is interrupted', async () => {
    const listeners = new Map<string, () => void>()
    const terminal = {
      ...createTerminal(['logs', '--follow', '--level', 'warn', '--limit', '1', '--json'], {
        env: environment(),
      }),
      on: (signal: string, listener: () => void) => void listeners.set(signal, listener),
    }
    const lines = () =>
      terminal.output.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).message)
    const ended = main(terminal)
    await waitFor('what was logged before', () => lines().length === 1)
    await database.sql(`
      insert into basalt.logs (logged_at, level, message, attrs, node) values
        (now(), 30, 'quiet', '{}', 'web/1'), (now(), 50, 'loud', '{}', 'web/2')`)
    await waitFor('the entry', () => lines().length === 2)
    // The entry has the time of a clock that lags behind.
    await database.sql(`
      insert into basalt.logs (logged_at, level, message, attrs, node) values
        ('2026-03-04T05:06:00Z', 40, 'late', '{}', 'web/3')`)
    await waitFor('the late entry', () => lines().length === 3)
    expect(lines()).toEqual(['request\x1b failed', 'loud', 'late'])
    expect([...listeners.keys()]).toEqual(['SIGINT', 'SIGTERM'])
    listeners.get('SIGINT')?.()
    await ended
    expect([terminal.exitCode ?? 0, terminal.output.stderr]).toEqual([0, ''])
    await database.sql(
      "delete from basalt.logs where logged_at = '2026-03-04T05:06:00Z' or logged_at > now() - interval '1 hour'",
    )
  })

  test('ends when the reader of its output has closed it', async () => {
    const terminal = createTerminal(['logs', '--follow'], { env: environment() })
    terminal.stdout.once('data', () =>
      terminal.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    )
    await main(terminal)
    expect([terminal.exitCode ?? 0, terminal.output.stderr]).toEqual([0, ''])
  })
})

describe('basalt audit', () => {
  test('prints actions and changes', async () => {
    const { stdout } = await run('audit', '--table', 'note')
    expect(stdout.split('\n')[2]).toMatch(
      /^2026-03-04T05:06:08.000Z +user +rows.update +note 4 +a11ce000\S+ +request-0001$/,
    )
    const json = await run('audit', '--request-id', 'request-0001', '--user', alice, '--json')
    expect(JSON.parse(json.stdout)).toMatchObject([{ table_name: 'note', record_id: '4' }])
    expect((await run('audit', '--operation', 'update')).code).toBe(2)
  })

  test('prints the requested number of rows, even more than a request of the API returns', async () => {
    await database.sql(`
      insert into basalt.audit (happened_at, actor, action)
      select now(), 'admin', 'many.' || n from generate_series(1, 700) n`)
    const { stdout } = await run('audit', '--limit', '600', '--json')
    expect(JSON.parse(stdout)).toHaveLength(600)
    expect(stdout).toBe(`${JSON.stringify(JSON.parse(stdout), undefined, 2)}\n`)
    expect((await run('audit', '--limit', '600')).stdout.split('\n')).toHaveLength(603)
    expect((await run('audit', '--actor', 'open', '--json')).stdout).toBe('[]\n')
    expect((await run('audit', '--actor', 'open')).stdout.split('\n')).toHaveLength(3)
    await database.sql(`delete from basalt.audit where action like 'many.%'`)
  })

  test('writes row by row, for any number', async () => {
    await database.sql(`
      insert into basalt.audit (happened_at, actor, action, new_values)
      select now(), 'admin', 'large', jsonb_build_object('text', repeat('x', 10000)) from generate_series(1, 150)`)
    expect(await longestPiece('audit', '--action', 'large', '--limit', '150', '--json')).toBeLessThan(20_000)
    await database.sql(`delete from basalt.audit where action = 'large'`)
  })
})
