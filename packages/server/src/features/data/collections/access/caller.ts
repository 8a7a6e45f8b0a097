import type { CallerScope, Origin } from '../../../../database/caller/caller-scope.ts'
import type { ReadConsistency } from '../../../../database/replicas/read-consistency.ts'
import type { IdempotencyKey } from '../../idempotency/index.ts'

/** Identity of a request, and whether its client has disconnected. */
export interface Caller {
  readonly scope: CallerScope
  readonly isAbandoned: () => boolean
  /** Signal that aborts when the client disconnects. */
  readonly signal?: () => AbortSignal
  readonly isAdministrator: boolean
  /** Origin that is recorded with changes of audited tables. */
  readonly origin?: () => Origin
  /** Idempotency key of a write that may be sent again. */
  readonly key?: IdempotencyKey | undefined
  /** Returns the state that its reads must see, for replicas. @throws AppError invalid_read_consistency, invalid_position */
  readonly consistency?: () => ReadConsistency
  /** Receives the position of the log after a write. */
  readonly onPosition?: (position: string) => void
}
