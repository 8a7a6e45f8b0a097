import type { Step } from '../../../database/caller/caller-steps.ts'
import { type Statement, statement } from '../../../database/connection/message.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { IdempotencyKey } from './key.ts'

/** How long an answer is given again. */
const keptHours = 24

/** Violated by a write whose key was used before. */
export const keyConstraint = 'idempotency_keys_pkey'

/** Waits while another transaction has the key, and fails when that commits. */
const insertKey = statement('select basalt.reserve_idempotency_key($1, $2, $3)')

const storeResult = statement('select basalt.store_idempotency_result($1, $2, $3)')

export function reserveKey({ owner, value, fingerprint }: IdempotencyKey): Step {
  return asLogin(insertKey, [owner, value, fingerprint])
}

export function storeAnswer({ owner, value }: IdempotencyKey, result: string): Step {
  return asLogin(storeResult, [owner, value, result])
}

function asLogin(statement: Statement, values: readonly string[]): Step {
  return { statement, values, asLogin: true }
}

export interface StoredAnswer {
  readonly fingerprint: string
  readonly result: string
}

/** What the first request with the key has answered; undefined when that was too long ago. */
export async function findAnswer(
  database: SystemDatabase,
  { owner, value }: IdempotencyKey,
): Promise<StoredAnswer | undefined> {
  return await database.maybeOne<StoredAnswer & Record<string, unknown>>(sql`
    select encode(fingerprint, 'hex') as fingerprint, result from basalt.idempotency_keys
    where owner = ${owner} and key = ${value} and created_at > now() - make_interval(hours => ${keptHours}::int)`)
}

/** Frees a key whose answer is no longer given, unless it was used anew meanwhile. */
export async function deleteExpiredKey(
  database: SystemDatabase,
  { owner, value }: IdempotencyKey,
): Promise<void> {
  await database.count(sql`
    delete from basalt.idempotency_keys
    where owner = ${owner} and key = ${value} and created_at <= now() - make_interval(hours => ${keptHours}::int)`)
}

/** Rows removed by one statement, so that none takes long. */
const batchSize = 5000

export async function deleteExpiredKeys(database: SystemDatabase): Promise<void> {
  let deleted: number
  do {
    deleted = await database.count(sql`
      delete from basalt.idempotency_keys where (owner, key) in (
        select owner, key from basalt.idempotency_keys
        where created_at <= now() - make_interval(hours => ${keptHours}::int)
        order by created_at
        limit ${batchSize}::int
      )`)
  } while (deleted === batchSize)
}
