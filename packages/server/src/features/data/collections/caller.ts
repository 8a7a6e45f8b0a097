import type { CallerScope, Origin } from '../../../database/user-database.ts'

/** Identity of a request, and whether its client has disconnected. */
export interface Caller {
  readonly scope: CallerScope
  readonly isAbandoned: () => boolean
  /** Aborted when the client disconnects. */
  readonly signal?: () => AbortSignal
  readonly isAdministrator: boolean
  /** What is recorded with changes of audited tables. */
  readonly origin?: () => Origin
}
