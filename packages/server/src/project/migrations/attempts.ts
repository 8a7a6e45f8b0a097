import { setTimeout as delay } from 'node:timers/promises'
import { ScriptFailure } from '../../database/errors/script-failure.ts'
import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { codeOf, messageOf, OperatorError } from '../../lib/errors.ts'
import { secondsBeforeRetry } from '../../lib/retry-policy.ts'
import type { MigrationFile } from './files.ts'

/** How long migrations wait for locks, and how often. */
export interface MigrationSettings {
  readonly lock_timeout_ms: number
  readonly lock_attempts: number
  readonly statement_timeout_ms: number
}

/** For the statements that follow, or those of the transaction. */
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

/** lock_not_available, deadlock_detected, serialization_failure: nothing happened, another attempt may succeed. */
const passingCodes = new Set(['55P03', '40P01', '40001'])

export interface Attempt {
  /** 1 for the first. */
  readonly number: number
  /** Whether the statement leaves nothing behind when it fails. */
  readonly isRepeatable: boolean
  readonly settings: MigrationSettings
  readonly onRetry: ((message: string) => void) | undefined
}

/** @throws OperatorError unless another attempt is due, for which it waits */
export async function pauseOrFail(
  failure: unknown,
  { name }: MigrationFile,
  { number, isRepeatable, settings, onRetry }: Attempt,
): Promise<void> {
  const isPassing = passingCodes.has(codeOf(failure) ?? '')
  // Anything but a statement of the file is a fault of ours, unless it waited for a lock, too.
  if (!(failure instanceof ScriptFailure) && !isPassing) throw failure
  const line = failure instanceof ScriptFailure ? `:${failure.line}` : ''
  const place = `${name}${line}: ${messageOf(failure)}`
  if (!isRepeatable || !isPassing) throw new OperatorError(place, { cause: failure })
  const policy = { attempts: settings.lock_attempts, delay: 0.25, delayMax: 10, backoff: 2 }
  const pause = secondsBeforeRetry(policy, number)
  if (pause === undefined) {
    throw new OperatorError(`${place}; gave up after ${number} attempts, nothing of it is done`, {
      cause: failure,
    })
  }
  onRetry?.(`${place}; retrying in ${pause} s`)
  // Nodes that collided must not meet again at once.
  await delay(pause * 1000 * (0.5 + Math.random() / 2))
}
