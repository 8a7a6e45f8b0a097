import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anyUnits } from '../../../test/any-text.ts'
import { call, connectTo } from '../../../test/connections.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { CallerContexts } from '../caller/caller-context.ts'
import type { CallerScope } from '../caller/caller-scope.ts'
import type { Connection } from '../connection/connection.ts'
import { begin } from '../connection/message.ts'
import { rollback } from '../session/reset.ts'

const contexts = new CallerContexts({
  dialect: 'literals',
  transactionSettings: {},
  workerSettings: { timezone: 'UTC' },
})

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

function callerOf(userId: string, email: string, sessionId: string): CallerScope {
  return { kind: 'caller', userId, email, isEmailVerified: true, aal: 'aal1', isAnonymous: false, sessionId }
}

/** Returns the role and the claims in a transaction with the context of the scope. */
async function claimsIn(connection: Connection, scope: CallerScope) {
  const context = contexts.callsFor(scope)
  const read = call(`select current_user::text, current_setting('basalt.user_id'),
    current_setting('basalt.user_email'), current_setting('basalt.session_id'), session_user::text`)
  const answers = await connection.send([begin, ...context, read, rollback])
  return answers[context.length + 1]?.rows[0]
}

describe.each(['on', 'off'])('literal context › with standard_conforming_strings = %s', (strings) => {
  test.each(['safe_encoding', 'on', 'off'])('carries any claim when backslash_quote is %s', async (quote) => {
    const connection = await connectTo(database, { prepare: false })
    await connection.script(`set standard_conforming_strings = ${strings}; set backslash_quote = ${quote}`)
    const storable = anyUnits({ maxLength: 40 }).map((text) => text.replaceAll('\0', '').toWellFormed())
    const hostile = fc
      .array(
        fc.constantFrom("'", '\\', '"', '$', '$$', '; ', '--', '/*', '*/', '\n', 'E', "\\'", 'reset role'),
      )
      .map((parts) => parts.join(''))
    const claim = fc.oneof(storable, hostile)
    await fc.assert(
      fc.asyncProperty(claim, claim, claim, async (userId, email, sessionId) => {
        expect(await claimsIn(connection, callerOf(userId, email, sessionId))).toEqual([
          'basalt_authenticated',
          userId,
          email,
          sessionId,
          'postgres',
        ])
      }),
      { numRuns: 150 },
    )
    await connection.close()
  })

  test('carries a claim of a million quotes and backslashes', async () => {
    const connection = await connectTo(database, { prepare: false })
    await connection.script(`set standard_conforming_strings = ${strings}`)
    const long = `'\\`.repeat(500_000)
    const claims = await claimsIn(connection, callerOf('a', long, ''))
    expect(claims?.[2] === long).toBe(true)
    await connection.close()
  })
})

test('literal context › ends with its transaction', async () => {
  const connection = await connectTo(database, { prepare: false })
  await claimsIn(connection, callerOf('a11ce', 'alice@example.com', '5e55'))
  const [answer] = await connection.send([
    call(
      `select current_user::text, current_setting('basalt.user_id', true), current_setting('basalt.user_email', true)`,
    ),
  ])
  expect(answer?.rows).toEqual([['postgres', '', '']])
  await connection.close()
})
