import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import type { UserDatabase, UserTransaction } from '../../../../database/user-database.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'

/** Change of a record, as hooks of its table get it. */
export interface RecordChange {
  /** `upsert` creates the record, or updates the one with its key. */
  readonly operation: ChangeAction | 'upsert'
  /** Primary key of the changed record; undefined for a new one. */
  readonly id?: string
  /** JSON object of the values to write; undefined for a delete. */
  readonly values?: string
  /** JSON object of the record before the change, where a hook requires it. */
  readonly previous?: string
}

/** Result of the hooks for one change. */
export interface ChangeOutcome {
  /** JSON object of the values that the hooks have set; undefined if they are as before. */
  readonly values?: string | undefined
  /** Error of the hook that has refused the change. */
  readonly refusal?: AppError
}

/** Hooks that one write passes. */
export interface TableHooks {
  /** True if a hook requires the record before the change. */
  readonly requiresPrevious: boolean
}

/** Code of the operator that runs before writes. It is called only for tables that have hooks. */
export interface WriteHooks {
  /**
   * Returns the hooks in force, of which a write uses one set wholly; undefined if there are none.
   *
   * @throws AppError functions_unavailable while the hooks are unknown
   */
  current(): HookSet | undefined
}

export interface HookSet {
  /** Returns the hooks that a write of any of the actions on the table passes; undefined if there are none. */
  find(relation: Relation, actions: readonly ChangeAction[]): TableHooks | undefined
  /**
   * Runs the work in a transaction that hooks and write share. It is committed when the work returns, and rolled back when it
   * throws.
   */
  transaction<Result>(
    caller: Caller,
    work: (transaction: HookTransaction) => Promise<Result>,
  ): Promise<Result>
  /** Runs the work with hooks in a transaction that is open already. */
  within<Result>(
    caller: Caller,
    transaction: Pick<UserTransaction, 'run'>,
    work: (transaction: HookTransaction) => Promise<Result>,
  ): Promise<Result>
}

export interface HookTransaction {
  /** Runs steps in the transaction. */
  run(steps: readonly Step[]): Promise<readonly Answer[]>
  /** Runs steps that are the whole write. Unless a hook has used the database, they are a transaction by themselves. */
  readonly runWhole: UserDatabase['run']
  /** Calls the listener after the commit. */
  onCommit(listener: () => void): void
  /**
   * Calls the hooks with the changes of one statement. Each hook gets the values that the one before it has set.
   *
   * @param isCollecting false ends at the first refusal, whose outcome is then the last
   * @throws AppError of a hook that failed
   */
  call(
    relation: Relation,
    changes: readonly RecordChange[],
    isCollecting: boolean,
  ): Promise<readonly ChangeOutcome[]>
}

/** Hooks of a server that runs no functions. */
export const noHooks: WriteHooks = { current: () => undefined }
