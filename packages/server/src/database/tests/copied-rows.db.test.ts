import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { waitFor } from '../../../test/wait-for.ts'
import type { Connection } from '../connection/connection.ts'
import { type CopiedRowsOptions, ReaderStalled, RowsOverdue } from '../connection/copied-rows.ts'
import { StatementFailed } from '../connection/message.ts'
import { ConnectionLost } from '../errors/failures.ts'

let database: TestDatabase
let connection: Connection

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  connection = await connectTo(database)
})
afterEach(() => connection.close())

/** Calls of `release`: whether the statement was still in flight. */
let released: boolean[]

function copy(query: string, options: Partial<CopiedRowsOptions> = {}) {
  released = []
  return connection.copyRows(`copy (${query}) to stdout (format csv)`, {
    frame: { before: '', between: '', after: '' },
    limit: 1_000_000,
    timeoutMs: 60_000,
    silenceMs: 60_000,
    stallMs: 60_000,
    isAbandoned: () => false,
    release: (isInFlight) => released.push(isInFlight),
    ...options,
  })
}

const many = `select n, repeat('x', 1000) from generate_series(1, 5000) n`

async function read(rows: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of rows) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe('copied rows', () => {
  test('form a document with the texts around and between them', async () => {
    const rows = copy('values (1), (2), (3)', { frame: { before: '<', between: '; ', after: '>' } })
    expect([await read(rows), rows.isCut, released]).toEqual(['<1\n; 2\n; 3\n>', false, [false]])
    expect(
      await read(copy('select 1 where false', { frame: { before: '<', between: '; ', after: '>' } })),
    ).toBe('<>')
  })

  test('are complete, whether they are longer than a batch or not', async () => {
    const [expected] = await database.sql<{ text: string }>(
      `select string_agg(n || ',' || repeat('x', n * 700) || E'\\n', '' order by n) as text from generate_series(1, 200) n`,
    )
    expect(await read(copy(`select n, repeat('x', n * 700) from generate_series(1, 200) n`))).toBe(
      expected?.text,
    )
  })

  test.each([
    [2, '1\n2\n', true],
    [3, '1\n2\n3\n', false],
  ])('end after a limit of %i', async (limit, expected, isCut) => {
    const rows = copy('values (1), (2), (3)', { limit })
    expect([await read(rows), rows.isCut]).toEqual([expected, isCut])
  })

  test('leave the connection ready for the next statement', async () => {
    await read(copy('select 1'))
    expect((await connection.script('select 2 as two'))[0]?.rows).toEqual([{ two: 2 }])
  })

  test('report their start, or the reason of a failure', async () => {
    const rows = copy(many)
    await rows.begun
    rows.destroy()
    const broken = copy('select 1 / 0')
    await expect(broken.begun).rejects.toBeInstanceOf(StatementFailed)
    expect(released).toEqual([true])
  })

  test('fail when the connection is lost', async () => {
    const rows = copy(many)
    await rows.begun
    connection.destroy()
    await expect(read(rows)).rejects.toBeInstanceOf(ConnectionLost)
  })

  test('are aborted when the reader reads nothing', async () => {
    const rows = copy(many, { stallMs: 100 })
    await waitFor('the connection to be given back', () => released.length > 0)
    expect(released).toEqual([true])
    expect(rows.errored).toBeInstanceOf(ReaderStalled)
  })

  test('are aborted when no row arrives', async () => {
    const rows = copy('select 1 from pg_sleep(60)', { silenceMs: 100 })
    await expect(rows.begun).rejects.toBeInstanceOf(RowsOverdue)
    expect(released).toEqual([true])
    connection.destroy()
  })

  test('are aborted after their time, however the reader reads', async () => {
    const rows = copy(many, { timeoutMs: 100 })
    await waitFor('the connection to be given back', () => released.length > 0)
    expect(rows.errored).toBeInstanceOf(RowsOverdue)
  })

  test('are aborted when the reader has disconnected', async () => {
    const rows = copy('select 1 from pg_sleep(60)', { isAbandoned: () => true })
    await expect(rows.begun).rejects.toBeInstanceOf(ConnectionLost)
    connection.destroy()
  })
})
