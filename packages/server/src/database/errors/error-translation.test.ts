import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { errorKind } from '../../lib/errors.ts'
import { StatementFailed } from '../connection/message.ts'
import { translateDatabaseFailure } from './error-translation.ts'
import { databaseErrorTable } from './errors.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'

function databaseError(fields: Partial<pg.DatabaseError>): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(fields.message ?? 'said Postgres', 0, 'error'), fields)
}

describe('what the database layer throws', () => {
  test('is 503 while there is no connection', () => {
    const error = translateDatabaseFailure(new ConnectionLost('connect ECONNREFUSED /run/secret'))
    expect(error).toMatchObject({
      kind: 'database_unavailable',
      status: 503,
      message: 'the database is unavailable',
      extras: { headers: { 'retry-after': '1' } },
    })
  })

  test('is 503 while every connection is busy', () => {
    const error = translateDatabaseFailure(new PoolExhausted('200 wait'))
    expect(error).toMatchObject({
      kind: 'database_busy',
      status: 503,
      message: 'the database is busy',
      extras: { headers: { 'retry-after': '1' } },
    })
  })

  test('keeps its cause for the log', () => {
    const cause = databaseError({ code: '23505' })
    expect(translateDatabaseFailure(new StatementFailed(cause, 0))?.extras.cause).toBe(cause)
    expect(translateDatabaseFailure(cause)?.extras.cause).toBe(cause)
  })

  test.each([
    ['an error that is not of the database', new Error('x')],
    ['no error', 'x'],
    ['an internal error of Postgres', databaseError({ code: 'XX000' })],
    ['corrupt data', databaseError({ code: 'XX001' })],
    ['a syntax error in a statement', databaseError({ code: '42601', position: '7' })],
    ['a table that a statement does not find', databaseError({ code: '42P01', position: '7' })],
    [
      'a table that a function does not find',
      databaseError({ code: '42P01', where: 'PL/pgSQL function f()' }),
    ],
    ['a column that does not exist', databaseError({ code: '42703', position: '7' })],
    ['a function that does not exist', databaseError({ code: '42883', routine: 'ParseFuncOrColumn' })],
    ['an operator that a function misses', databaseError({ code: '42883', where: 'SQL function "f"' })],
    ['a plan that has expired', databaseError({ code: '0A000', routine: 'RevalidateCachedQuery' })],
    ['policies that refer to each other', databaseError({ code: '42P17' })],
    ['no code', databaseError({})],
  ])('is not for the client to know: %s', (_what, failure) => {
    expect(translateDatabaseFailure(failure)).toBeUndefined()
  })

  test('is an invalid value where an hstore cannot be read before PostgreSQL 16', () => {
    const fault = { code: 'XX000', file: 'hstore_io.c', message: 'Unexpected end of string' }
    expect(translateDatabaseFailure(databaseError(fault))).toMatchObject({
      kind: 'invalid_value',
      status: 400,
      message: 'invalid value: Unexpected end of string',
    })
    expect(
      translateDatabaseFailure(databaseError({ ...fault, where: 'PL/pgSQL function f()' })),
    ).toBeUndefined()
  })

  test('is named like its row of the table', () => {
    for (const [key, { status }] of Object.entries(databaseErrorTable)) {
      expect(errorKind(key)).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect([400, 403, 409, 500, 503, 504]).toContain(status)
    }
  })
})
