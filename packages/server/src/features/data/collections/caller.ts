import type { CallerScope } from '../../../database/user-database.ts'

/** Identity of a request, and whether its client has disconnected. */
export interface Caller {
  readonly scope: CallerScope
  readonly isAbandoned: () => boolean
  readonly isAdministrator: boolean
}
