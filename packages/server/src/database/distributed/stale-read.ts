import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Sql, sql } from '../sql.ts'

/** Token that is random for each process, so that no value sent by a caller can be mistaken for it. */
const staleToken = `changed meanwhile ${randomBytes(9).toString('base64url')} `

/** SQLSTATE of a serialization failure, which {@link asConflict} gives to a failure of {@link staleFailure}. */
const serializationFailure = '40001'

/**
 * Compiles an expression that fails. It is for a statement that has read rows without locks, and finds that another
 * transaction has changed them before its own write. Citus locks rows on one worker only. PostgreSQL has no statement
 * that fails on purpose, so a text of ours is cast to a number.
 *
 * @param value expression over rows, which keeps the planner from evaluating the cast beforehand
 */
export function staleFailure(value: Sql): Sql {
  return sql`(${sql.literal(staleToken)} || ${value})::int`
}

/** Returns true if the failure is that of {@link staleFailure}. Another attempt may succeed. */
export function isStaleRead({ code, message }: pg.DatabaseError): boolean {
  return code === '22P02' && message.includes(staleToken)
}

/** Returns a failure of {@link staleFailure} as the serialization failure that it is, and any other unchanged. */
export function asConflict(error: pg.DatabaseError): pg.DatabaseError {
  if (!isStaleRead(error)) return error
  const message = 'could not serialize access due to concurrent update'
  const conflict = new pg.DatabaseError(message, message.length, error.name as pg.DatabaseError['name'])
  return Object.assign(conflict, { severity: error.severity, code: serializationFailure })
}
