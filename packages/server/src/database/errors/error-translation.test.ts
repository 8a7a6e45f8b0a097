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

describe('error translation', () => {
  test('returns 503 while there is no connection', () => {
    const error = translateDatabaseFailure(new ConnectionLost('connect ECONNREFUSED /run/secret'))
    expect(error).toMatchObject({
      kind: 'database_unavailable',
      status: 503,
      message: 'the database is unavailable',
      extras: { headers: { 'retry-after': '1' } },
    })
  })

  test('returns 503 while every connection is in use', () => {
    const error = translateDatabaseFailure(new PoolExhausted('200 wait'))
    expect(error).toMatchObject({
      kind: 'database_busy',
      status: 503,
      message: 'the database is busy',
      extras: { headers: { 'retry-after': '1' } },
    })
    // Waiting requests are served in the meantime.
    const measured = translateDatabaseFailure(new PoolExhausted('200 wait', 3100))
    expect(measured?.extras.headers).toEqual({ 'retry-after': '4' })
  })

  test('keeps the cause for the log', () => {
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
    ['a column that does not exist', databaseError({ code: '42703', position: '7' })],
    ['a function that does not exist', databaseError({ code: '42883', routine: 'ParseFuncOrColumn' })],
    ['a plan that has expired', databaseError({ code: '0A000', routine: 'RevalidateCachedQuery' })],
    ['no code', databaseError({})],
  ])('hides from the client: %s', (_what, failure) => {
    expect(translateDatabaseFailure(failure)).toBeUndefined()
  })

  test('returns an invalid value for an unreadable hstore before PostgreSQL 16', () => {
    const fault = { code: 'XX000', file: 'hstore_io.c', message: 'Unexpected end of string' }
    expect(translateDatabaseFailure(databaseError(fault))).toMatchObject({
      kind: 'invalid_value',
      status: 400,
      message: 'invalid value: Unexpected end of string',
    })
  })

  test.each([
    ['a table that is missing', { code: '42P01', where: 'PL/pgSQL function f() line 3 at RETURN' }],
    ['an operator that is missing', { code: '42883', where: 'SQL function "f" statement 1' }],
    ['a value', { code: '22P02', message: 'invalid: "secret"', where: 'PL/pgSQL function f()' }],
    ['a lack of rights', { code: '42501', routine: 'aclcheck_error', where: 'SQL function "f"' }],
  ])('returns a definition fault when a function of the operator fails for %s', (_what, fields) => {
    const error = translateDatabaseFailure(databaseError(fields))
    expect(error).toMatchObject({ kind: 'database_definition_error', status: 500 })
    expect(error?.extras.data).toEqual({ sqlState: fields.code, relation: expect.stringMatching(/^f/) })
    expect(`${error?.message} ${error?.extras.detail}`).not.toContain('secret')
  })

  test.each([
    ['a value in a function of our own', '22P02', 'PL/pgSQL function basalt.search_query(text) line 3', 400],
    ['a limit of time', '57014', 'PL/pgSQL function f() line 3', 504],
    ['a lock', '55P03', 'PL/pgSQL function f() line 3', 409],
    ['a constraint', '23505', 'SQL statement "insert …"\nPL/pgSQL function f() line 3', 409],
    ['a policy that refuses a row', '42501', 'PL/pgSQL function f() line 3', 403],
  ])('returns no definition fault for %s', (_what, code, where, status) => {
    expect(translateDatabaseFailure(databaseError({ code, where }))?.status).toBe(status)
  })

  test('names the error like its row of the table', () => {
    for (const [key, { status }] of Object.entries(databaseErrorTable)) {
      expect(errorKind(key)).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect([400, 403, 409, 500, 503, 504]).toContain(status)
    }
  })
})
