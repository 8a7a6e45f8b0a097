import { afterEach, describe, expect, test } from 'vitest'
import type { SessionCodeRow } from './catalog/queries/session-code.ts'
import { SessionCode } from './catalog/session-code.ts'
import { SessionGuard } from './session/guard.ts'
import { sql } from './sql.ts'
import { SystemDatabase } from './system-database.ts'
import { createRecordingPool } from './tests/recording.ts'

const cleanUps: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

/** Creates a database whose packets are recorded. @param code of the operator that may leave state in a session */
function open(code: readonly SessionCodeRow[] = [], isPooled = false) {
  const { pool, packets } = createRecordingPool()
  cleanUps.push(() => pool.close())
  const sessions = new SessionGuard({ isPooled, transactions: 'message' })
  sessions.trust(new SessionCode(code))
  return { database: new SystemDatabase(pool, sessions), packets }
}

/** Operator code that a write of the table may reach, such as a trigger. */
const trigger: SessionCodeRow = { kind: 'write', schema: 'basalt', name: 'users' }

const addUser = (email: string) => sql`insert into basalt.users (email) values (${email})`
const countUser = (day: string) => sql`update basalt.days set users = users + 1 where day = ${day}`

describe('SystemDatabase', () => {
  test('sends a single statement as it is', async () => {
    const { database, packets } = open()
    await database.count(addUser('a@example.com'))
    expect(packets).toEqual([[[['insert into basalt.users (email) values ($1)', 'a@example.com']]]])
  })

  test('sends statements of runTogether in one message', async () => {
    const { database, packets } = open()
    await database.runTogether([addUser('a@example.com'), countUser('2026-01-02'), addUser('b@example.com')])
    expect(packets).toEqual([
      [
        [
          ['begin isolation level read committed'],
          ['insert into basalt.users (email) values ($1)', 'a@example.com'],
          ['update basalt.days set users = users + 1 where day = $1', '2026-01-02'],
          ['insert into basalt.users (email) values ($1)', 'b@example.com'],
          ['commit'],
        ],
      ],
    ])
  })

  test('sends each statement of a transaction by itself, because the next one may depend on it', async () => {
    const { database, packets } = open()
    await database.transaction(async (transaction) => {
      await transaction.count(addUser('a@example.com'))
      await transaction.count(countUser('2026-01-02'))
    })
    expect(packets).toEqual([
      [[['begin isolation level read committed']]],
      [[['insert into basalt.users (email) values ($1)', 'a@example.com']]],
      [[['update basalt.days set users = users + 1 where day = $1', '2026-01-02']]],
      [[['commit']]],
    ])
  })

  test('rolls back a transaction whose work throws', async () => {
    const { database, packets } = open()
    const work = async () => {
      throw new Error('no')
    }
    await expect(database.transaction(work)).rejects.toThrow('no')
    expect(packets).toEqual([[[['begin isolation level read committed']]], [[['rollback']]]])
  })

  test('resets the session after a statement that may reach code of the operator', async () => {
    const { database, packets } = open([trigger])
    await database.count(addUser('a@example.com'))
    expect(packets).toEqual([
      [[['insert into basalt.users (email) values ($1)', 'a@example.com']]],
      [
        [
          ['reset session authorization'],
          ['reset role'],
          ['reset all'],
          ['close all'],
          ['unlisten *'],
          ['discard temp'],
          ['discard sequences'],
          [expect.stringContaining('select pg_catalog.pg_advisory_unlock_all()')],
        ],
      ],
    ])
  })

  test('resets the session of a pooler before the commit', async () => {
    const { database, packets } = open([trigger], true)
    await database.runTogether([addUser('a@example.com')])
    const [[calls = []] = []] = packets
    expect(calls.slice(0, 4)).toEqual([
      ['begin isolation level read committed'],
      ['insert into basalt.users (email) values ($1)', 'a@example.com'],
      ['set constraints all immediate'],
      ['reset session authorization'],
    ])
    expect(calls.slice(-2)).toEqual([["set client_encoding to 'UTF8'"], ['commit']])
  })
})
