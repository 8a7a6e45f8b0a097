import type { CallerScope, Origin } from '../../../../database/caller/caller-scope.ts'
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
}
