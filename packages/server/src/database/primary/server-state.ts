import { type Answer, type Call, statement } from '../connection/message.ts'

/** State of a server, as one of its sessions sees it. */
export interface ServerState {
  /** True in recovery: a standby, or a primary that starts. */
  readonly isStandby: boolean
  /** True if transactions of the session are read-only by default. */
  readonly isReadOnly: boolean
  /** Identifier of the cluster, equal on all its servers; undefined if it cannot be read. */
  readonly system: string | undefined
  /** Number that a promotion increases (PostgreSQL, Timelines); undefined on a standby, or if it cannot be read. */
  readonly timeline: number | undefined
}

const roleColumns = `pg_is_in_recovery()::text, current_setting('transaction_read_only')`
const roleCall: Call = { statement: statement(`select ${roleColumns}`), values: [] }
/** The file of the log that is being written has the timeline in its name (PostgreSQL, pg_walfile_name). */
const historyCall: Call = {
  statement: statement(
    `select ${roleColumns}, (select system_identifier::text from pg_control_system()), ` +
      'case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_lsn()), 8) end',
  ),
  values: [],
}

/** Returns the call that reads the state. @param withHistory adds the cluster and its timeline */
export function stateCall(withHistory: boolean): Call {
  return withHistory ? historyCall : roleCall
}

/** Reads the state from the result of {@link stateCall}. */
export function stateOf(answers: readonly Answer[]): ServerState {
  const [standby, readOnly, system, timeline] = answers[0]?.rows[0] ?? []
  return {
    isStandby: standby === 'true',
    isReadOnly: readOnly === 'on',
    system: system ?? undefined,
    timeline: timeline === null || timeline === undefined ? undefined : Number.parseInt(timeline, 16),
  }
}
