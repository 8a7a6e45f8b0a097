import type { UserDatabase } from '../../../../database/user-database.ts'
import { createWritesWithoutKey } from '../../idempotency/index.ts'
import type { Collections } from '../collections.ts'
import type { WriteHooks } from './write-hooks.ts'

/** Collections in a transaction of several messages. */
export interface TransactionData {
  readonly collections: Collections
  /** Announces captured changes, after the commit. */
  readonly announce: () => void
}

/**
 * Returns the collections on a transaction, whose end announces their changes. It has no idempotency keys of its own.
 *
 * @param hooks of the writes in the transaction
 */
export function openInTransaction(
  collections: Collections,
  run: UserDatabase['run'],
  hooks: WriteHooks,
): TransactionData {
  const { changes } = collections
  let hasChanges = false
  return {
    collections: {
      ...collections,
      hooks,
      database: { run, begin: () => Promise.reject(new Error('a transaction has no exports')) },
      replicas: undefined,
      writesOnce: createWritesWithoutKey(run),
      changes: {
        hasTriggers: changes.hasTriggers,
        capture: (...write) => changes.capture(...write),
        committed() {
          hasChanges = true
        },
        doubt: (relation) => changes.doubt(relation),
      },
    },
    announce() {
      if (hasChanges) changes.committed()
    },
  }
}
