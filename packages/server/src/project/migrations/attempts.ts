import { setTimeout as delay } from 'node:timers/promises'
import { lockCodes } from '../../database/errors/retry.ts'
import { ScriptFailure } from '../../database/errors/script-failure.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { secondsBeforeRetry } from '../../lib/retry-policy.ts'
import type { MigrationFile } from './files.ts'

/** Timeouts of migrations, and number of attempts to get a lock. */
export interface MigrationSettings {
  readonly lock_timeout_ms: number
  readonly lock_attempts: number
  readonly statement_timeout_ms: number
}

/** Sets the timeouts for the following statements, or for those of the transaction. */
export async function setTimeouts(
  queryable: Queryable,
  { lock_timeout_ms: lock, statement_timeout_ms: statement }: MigrationSettings,
  scope: 'session' | 'transaction',
): Promise<void> {
  const isLocal = scope === 'transaction'
  await queryable.count(sql`
    select set_config('lock_timeout', ${`${lock}ms`}, ${isLocal}),
      set_config('statement_timeout', ${`${statement}ms`}, ${isLocal}),
      set_config('idle_in_transaction_session_timeout', '0', ${isLocal})`)
}

export interface Attempt {
  /** Number of the attempt, from 1. */
  readonly number: number
  /** True if a failure of the statement has no effect. */
  readonly isRepeatable: boolean
  readonly settings: MigrationSettings
  readonly onRetry: ((message: string) => void) | undefined
}

/** Waits for the next attempt. @throws OperatorError unless one is due */
export async function pauseOrFail(
  failure: unknown,
  { name }: MigrationFile,
  { number, isRepeatable, settings, onRetry }: Attempt,
): Promise<void> {
  const isPassing = lockCodes.has(codeOf(failure) ?? '')
  // A failure outside of a statement of the file is a fault of ours, unless it waited for a lock, too.
  if (!(failure instanceof ScriptFailure) && !isPassing) throw failure
  const line = failure instanceof ScriptFailure ? `:${failure.line}` : ''
  const failed = `${name}${line}: ${messageOf(failure)}`
  if (!isRepeatable || !isPassing) throw new OperatorError(failed, { cause: failure })
  const policy = { attempts: settings.lock_attempts, delay: 0.25, delayMax: 10, backoff: 2 }
  const pause = secondsBeforeRetry(policy, number)
  if (pause === undefined) {
    throw new OperatorError(`${failed}; gave up after ${number} attempts, nothing of it is done`, {
      cause: failure,
    })
  }
  onRetry?.(`${failed}; retrying in ${pause} s`)
  // Nodes that collided must not collide again.
  await delay(pause * 1000 * (0.5 + Math.random() / 2))
}
