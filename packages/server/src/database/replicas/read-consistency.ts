import type { LogPosition } from './log-position.ts'

/** State of the database that a read must see. */
export interface ReadConsistency {
  /** True if a replica may serve the read. */
  readonly admitsReplicas: boolean
  /** Position that the replica must have replayed; undefined for any state within the maximum lag. */
  readonly position?: LogPosition | undefined
  /** True if the caller has requested a replica, which exports require. */
  readonly isEventual?: boolean
}
