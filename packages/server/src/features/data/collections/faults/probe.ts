import { type Call, StatementFailed } from '../../../../database/connection/message.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import type { Caller } from '../access/caller.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Dependencies of statements that only search for a fault. */
export interface Probe {
  readonly caller: Caller
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
}

/** Returns the failure of the first call that fails, with its index. Returns undefined when all succeed. */
export async function firstFailure(
  { caller, database }: Probe,
  calls: readonly Call[],
  { isReadOnly = false }: { readonly isReadOnly?: boolean } = {},
): Promise<StatementFailed | undefined> {
  if (calls.length === 0) return undefined
  try {
    await database.run(caller.scope, calls, { isRead: true, isReadOnly, isAbandoned: caller.isAbandoned })
    return undefined
  } catch (error) {
    if (error instanceof StatementFailed) return error
    throw error
  }
}
