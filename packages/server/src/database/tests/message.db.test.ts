import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call, connectTo } from '../../../test/connections.ts'
import { startFakePostgres } from '../../../test/fake-postgres.ts'
import { createReader } from '../../../test/postgres-wire.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { startTransactionPooler } from '../../../test/transaction-pooler.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Connection } from '../connection/connection.ts'
import {
  type Answer,
  begin,
  type Call,
  StatementFailed,
  statement,
  subjectOf,
} from '../connection/message.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sendingOn, sendWithPosition } from '../replicas/write-position.ts'

let database: TestDatabase
let connection: Connection

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`
    create table entry (id int primary key, note text);
    create table later (id int constraint later_once unique deferrable initially deferred)`)
})
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await database.sql('truncate entry, later')
  connection = await connectTo(database)
})
afterEach(() => connection.close())

/** Sends several messages at once and returns the outcome of each, in the order in which they ended. */
function sendEach(messages: readonly (readonly Call[])[], on = connection): Promise<string[]> {
  return new Promise((resolve) => {
    const ends: string[] = []
    const end = (index: number, outcome: string) => {
      if (ends.push(`${index} ${outcome}`) === messages.length) resolve(ends)
    }
    on.sendEach(
      messages.map((calls, index) => ({
        calls,
        receive: (answers) => end(index, describeAnswers(answers)),
        fail: (error) => end(index, describeFailure(error)),
      })),
    )
  })
}

function describeAnswers(answers: readonly Answer[]): string {
  return JSON.stringify(answers.map(({ rows }) => rows.flat()))
}

function describeFailure(error: unknown): string {
  return error instanceof StatementFailed ? `${error.error.code} at ${error.index}` : 'connection lost'
}

async function failureOf(calls: readonly Call[]): Promise<unknown> {
  return await connection.send(calls).then(
    () => undefined,
    (error) => error,
  )
}

async function preparedCount(): Promise<number> {
  const { rows } = await connection.query<{ count: number }>({
    text: 'select count(*)::int from pg_prepared_statements',
    values: [],
  })
  return rows[0]?.count ?? -1
}

describe('message', () => {
  test('runs its calls in order, in one transaction, and returns the result of each', async () => {
    const answers = await connection.send([
      call(`insert into entry values ($1::int, $2), (2, null) returning id::text, note`, '1', 'one'),
      call('update entry set note = $1', "it's"),
      call('select count(*)::text, count(distinct xmin::text)::text from entry'),
      call('delete from entry where id = $1::int', '2'),
      call(''),
    ])
    expect(answers).toEqual([
      {
        rows: [
          ['1', 'one'],
          ['2', null],
        ],
        count: 2,
      },
      { rows: [], count: 2 },
      { rows: [['2', '1']], count: 1 },
      { rows: [], count: 1 },
      { rows: [], count: 0 },
    ])
  })

  test('leaves neither the role nor the settings in the session', async () => {
    await connection.send([
      call(
        `select set_config('role', 'basalt_authenticated', true), set_config('basalt.user_id', 'x', true)`,
      ),
      call('select 1'),
    ])
    const [answer] = await connection.send([
      call(`select current_setting('role'), nullif(current_setting('basalt.user_id', true), '')`),
    ])
    expect(answer?.rows).toEqual([['none', null]])
  })

  test.each([
    ['its first call', [call('select 1/0'), call('select 2')], '22012', 0],
    ['a later call', [call('insert into entry values (1)'), call(`select 'x'::int`)], '22P02', 1],
    ['a value', [call('insert into entry values (1)'), call('select $1::int', 'x')], '22P02', 1],
    ['its syntax', [call('insert into entry values (1)'), call('selec 1')], '42601', 1],
    ['the commit', [call('insert into later values (1), (1)'), call('select 2')], '23505', 2],
  ])('is undone as a whole when %s fails, and returns the position', async (_, calls, code, index) => {
    const failure = await failureOf(calls)
    expect(failure).toBeInstanceOf(StatementFailed)
    expect(failure).toMatchObject({ index, error: { code } })
    expect(await database.sql('select id from entry union all select id from later')).toEqual([])
    expect(await connection.send([call('select 3::text')])).toEqual([{ rows: [['3']], count: 1 }])
  })
})

describe('write position', () => {
  test('leaves no query waiting on the connection when the write fails', async () => {
    const warnings: string[] = []
    const note = ({ message }: Error) => warnings.push(message)
    process.on('warning', note)
    const url = new URL(database.url)
    await using proxy = await startSplittingProxy(Number(url.port))
    url.port = String(proxy.port)
    const split = await connectTo({ url: url.href })
    const write = { calls: [begin, call('select 1/0')], leavesState: false }
    const positions: string[] = []
    const outcome = sendWithPosition(write, sendingOn(split), (position) => positions.push(position))
    await expect(outcome).rejects.toMatchObject({ index: 1, error: { code: '22012' } })
    expect(await split.send([call('rollback')])).toHaveLength(1)
    await split.close()
    process.off('warning', note)
    expect({ warnings, positions }).toEqual({ warnings: [], positions: [] })
  })

  /** Starts a proxy that delivers each message of Postgres by itself. */
  async function startSplittingProxy(target: number): Promise<{ readonly port: number } & AsyncDisposable> {
    const server = createServer({ noDelay: true }, (client) => {
      const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true })
      let sent: Promise<unknown> = Promise.resolve()
      const split = createReader(true, (_, frame) => {
        sent = sent.then(() => {
          client.write(frame)
          return delay(5)
        })
      })
      upstream.on('data', split).on('error', () => undefined)
      client.on('data', (chunk) => upstream.write(chunk)).on('error', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
      client.on('close', () => upstream.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port')
    return {
      port: address.port,
      async [Symbol.asyncDispose]() {
        server.close()
      },
    }
  }
})

describe('messages behind a pooler', () => {
  test('return their own results, although each may run on another session', async () => {
    const { port, username, pathname } = new URL(database.url)
    await using pooler = await startTransactionPooler({
      target: Number(port),
      user: username,
      database: pathname.slice(1),
      sessions: 2,
    })
    const pooled = await connectTo(
      { url: `postgresql://${username}@127.0.0.1:${pooler.port}${pathname}` },
      { prepare: false },
    )
    const messages = [
      [call('select 1::text'), call('select 2::text')],
      [call('select 1/0')],
      [call('select 3::text')],
    ]
    expect(await sendEach(messages, pooled)).toEqual(['0 [["1"],["2"]]', '1 22012 at 0', '2 [["3"]]'])
    expect(await pooled.send([call('select 4::text')])).toEqual([{ rows: [['4']], count: 1 }])
    await pooled.close()
  })

  test('fail and end the connection when a result is missing', async () => {
    await using server = await startFakePostgres({ hasNoResults: true })
    const pooled = await connectTo({ url: `postgresql://app@127.0.0.1:${server.port}/app` })
    const messages = [[call('select 1')], [call('select 2')]]
    expect(await sendEach(messages, pooled)).toEqual(['0 connection lost', '1 connection lost'])
    await waitFor('the end of the connection', () => !pooled.isOpen)
  })
})

describe('pipelined messages', () => {
  test('return results in order, and a failure does not affect the others', async () => {
    expect(
      await sendEach([
        [call('insert into entry values (1)'), call('select 1::text')],
        [call('insert into entry values (2)'), call('select 1/0'), call('select 2::text')],
        [call('insert into entry values (3)'), call('select 3::text')],
        [call('insert into entry values (1)')],
        [call('select count(*)::text from entry')],
      ]),
    ).toEqual(['0 [[],["1"]]', '1 22012 at 1', '2 [[],["3"]]', '3 23505 at 0', '4 [["2"]]'])
  })

  test('all fail when the connection breaks', async () => {
    const ends = sendEach([
      [call('select 1::text')],
      [call('select pg_terminate_backend(pg_backend_pid())')],
      [call('select 2::text')],
      [call('select 3::text')],
    ])
    expect(await ends).toEqual(['0 [["1"]]', '1 57P01 at 0', '2 connection lost', '3 connection lost'])
    expect(await failureOf([call('select 1')])).toBeInstanceOf(ConnectionLost)
  })

  test('use statements that an earlier one prepared, even when that one failed', async () => {
    const shared = call('select $1::int::text', '5')
    const ends = await sendEach([[call('select 1/0'), shared], [shared], [call('select 1/0'), shared]])
    // The sender repeats the second message.
    expect(ends).toEqual(['0 22012 at 0', '1 26000 at 0', '2 22012 at 0'])
    expect(await sendEach([[shared], [shared]])).toEqual(['0 [["5"]]', '1 [["5"]]'])
  })

  /** Arbitrary of a call, with the SQLSTATE of its failure if it fails. */
  const calls = fc.oneof(
    fc
      .nat({ max: 300 })
      .map((n) => ({ call: call(`select ${n}::text`), answer: String(n), code: undefined })),
    fc.string().map((text) => {
      const value = text.replaceAll('\0', '')
      return { call: call('select $1::text', value), answer: value, code: undefined }
    }),
    fc.nat({ max: 300 }).map((n) => ({ call: call(`select ${n}/0`), answer: '', code: '22012' })),
    fc
      .nat({ max: 300 })
      .map((n) => ({ call: call(`select $1::int + ${n}`, 'x'), answer: '', code: '22P02' })),
    fc.nat({ max: 300 }).map((n) => ({ call: call(`selec ${n}`), answer: '', code: '42601' })),
  )

  test('get the same results as alone, whatever they contain', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(calls, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 9 }),
        async (messages) => {
          const expected = messages.map((message, index) => {
            const failing = message.findIndex(({ code }) => code !== undefined)
            return failing === -1
              ? `${index} ${JSON.stringify(message.map(({ answer }) => [answer]))}`
              : `${index} ${message[failing]?.code} at ${failing}`
          })
          const ends = await sendEach(messages.map((message) => message.map((each) => each.call)))
          // A statement that one message failed to prepare is missing in the next ones. Their sender repeats
          // them.
          expect(ends.map((end, index) => (/ 26000 at /.test(end) ? expected[index] : end))).toEqual(expected)
        },
      ),
      { numRuns: 150 },
    )
    expect(await preparedCount()).toBeLessThanOrEqual(201)
  })
})

describe('statement', () => {
  test('is prepared once per connection', async () => {
    const counted = call('select count(*)::text from pg_prepared_statements')
    for (let turn = 0; turn < 3; turn += 1) await connection.send([call('select 1'), counted])
    const [, answer] = await connection.send([call('select 1'), counted])
    expect(answer?.rows).toEqual([['2']])
  })

  test('is not prepared where sessions are shared', async () => {
    const plain = await connectTo(database, { prepare: false })
    const [, answer] = await plain.send([
      call('select 1'),
      call('select count(*)::text from pg_prepared_statements'),
    ])
    expect(answer?.rows).toEqual([['0']])
    await plain.close()
  })

  test('is closed after two hundred others', async () => {
    for (let n = 0; n < 450; n += 1) await connection.send([call(`select ${n}`)])
    expect(await preparedCount()).toBeLessThanOrEqual(201)
    expect(await connection.send([call('select 0::text')])).toEqual([{ rows: [['0']], count: 1 }])
  })

  test.each([
    ['cannot be prepared', (n: number) => call(`select missing_${n}`)],
    ['is given a wrong value', (n: number) => call(`select ${n} + $1::int`, 'x')],
    ['fails when it runs', (n: number) => call(`select ${n} / 0`)],
  ])('does not pile up in Postgres when it %s', async (_, make) => {
    for (let n = 0; n < 450; n += 1) expect(await failureOf([make(n), call('select 1')])).toBeDefined()
    expect(await preparedCount()).toBeLessThanOrEqual(201)
  })

  test('fails once after another client has deallocated it', async () => {
    await connection.send([call('select 7::text')])
    await connection.query({ text: 'deallocate all', values: [] })
    expect(await failureOf([call('select 7::text')])).toMatchObject({ error: { code: '26000' } })
    expect(await connection.send([call('select 7::text')])).toEqual([{ rows: [['7']], count: 1 }])
  })

  test.each([
    [
      'select "t"."a" from "public"."book" "t" where exists (select from "public"."author")',
      '"public"."book"',
    ],
    ['insert into "a""b"."c d" values ($1) returning *', '"a""b"."c d"'],
    ['update "public"."book" set "title" = $1', '"public"."book"'],
    ["select set_config('role', $1, true)", undefined],
  ])('has the right subject: %s', (text, subject) => {
    expect(statement(text).subject).toBe(subject)
    expect(subjectOf([call('select 1'), call(text)])).toBe(subject)
  })
})
