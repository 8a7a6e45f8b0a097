import type { Step } from '../../../database/caller/caller-steps.ts'
import { type Statement, statement } from '../../../database/connection/message.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { IdempotencyKey } from './key.ts'

/** Number of hours for which a response is replayed. */
const retentionHours = 24

/** Constraint that a write violates if its key was used before. */
export const keyConstraint = 'idempotency_keys_pkey'

/** Statement that waits while another transaction has the key, and fails when that one commits. */
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

/** Returns the response to the first request with the key; undefined when it has expired. */
export async function findAnswer(
  database: SystemDatabase,
  { owner, value }: IdempotencyKey,
): Promise<StoredAnswer | undefined> {
  return await database.maybeOne<StoredAnswer & Record<string, unknown>>(sql`
    select encode(fingerprint, 'hex') as fingerprint, result from basalt.idempotency_keys
    where owner = ${owner} and key = ${value} and created_at > now() - make_interval(hours => ${retentionHours}::int)`)
}

/** Frees an expired key, unless it was used again meanwhile. */
export async function deleteExpiredKey(
  database: SystemDatabase,
  { owner, value }: IdempotencyKey,
): Promise<void> {
  await database.count(sql`
    delete from basalt.idempotency_keys
    where owner = ${owner} and key = ${value} and created_at <= now() - make_interval(hours => ${retentionHours}::int)`)
}

/** Number of rows removed by one statement, so that none takes long. */
const batchSize = 5000

export async function deleteExpiredKeys(database: SystemDatabase): Promise<void> {
  let deleted: number
  do {
    deleted = await database.count(sql`
      delete from basalt.idempotency_keys where (owner, key) in (
        select owner, key from basalt.idempotency_keys
        where created_at <= now() - make_interval(hours => ${retentionHours}::int)
        order by created_at
        limit ${batchSize}::int
      )`)
  } while (deleted === batchSize)
}
