import type pg from 'pg'
import { expect, test } from 'vitest'
import { StatementFailed } from '../connection/message.ts'
import { translateDatabaseFailure } from '../errors/error-translation.ts'
import { isWorthAnotherAttempt } from '../errors/retry.ts'
import { renderConstants, sql } from '../sql.ts'
import { databaseError } from '../tests/recording.ts'
import { asConflict, staleFailure } from './stale-read.ts'

/** Returns the failure of PostgreSQL when it evaluates the expression. */
function failureOf(expression: string): pg.DatabaseError {
  const [, text = ''] = /^\('(.*)' \|\| 'x'\)::int$/.exec(expression) ?? []
  return databaseError('22P02', { message: `invalid input syntax for type integer: "${text}x"` })
}

test('repeats a stale read like a serialization failure, and at last responds with a conflict', () => {
  const stale = failureOf(renderConstants(staleFailure(sql`'x'`)))
  const failed = new StatementFailed(stale, 0)
  const attempts = [1, 2, 3, 4].map((attempt) => isWorthAnotherAttempt(failed, attempt, { isRead: false }))
  expect(attempts).toEqual([true, true, true, false])
  const answer = translateDatabaseFailure(asConflict(stale))
  expect([answer?.status, answer?.message]).toEqual([409, 'the change conflicts with a concurrent one'])
})

test('leaves a value of a client that resembles a stale read as it is', () => {
  const error = databaseError('22P02', {
    message: 'invalid input syntax for type integer: "changed meanwhile AAAAAAAAAAAA x"',
  })
  expect(asConflict(error)).toBe(error)
  expect(isWorthAnotherAttempt(new StatementFailed(error, 0), 1, { isRead: false })).toBe(false)
})
