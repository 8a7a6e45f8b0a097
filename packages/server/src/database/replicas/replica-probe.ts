import type { Connection } from '../connection/connection.ts'
import { type Sql, sql } from '../sql.ts'
import { endOfRecords, type LogPosition, parseLogPosition } from './log-position.ts'

/** Identity of a database, which all of its physical copies share. */
interface Identity {
  /** System identifier of the cluster (PostgreSQL, pg_control_system). */
  readonly system: string
  readonly database: string
  /** Version of the collation provider, on which the order of indexes depends; null for a provider without versions. */
  readonly collation: string | null
}

/** State of the primary. */
export interface PrimaryState extends Identity {
  readonly timeline: number
  /** End of the log on disk, which a replica can have received. */
  readonly flushed: LogPosition
  /** End of the log in memory, which includes every commit. */
  readonly inserted: LogPosition
}

/** State of a replica. */
export interface ReplicaState extends Identity {
  readonly isStandby: boolean
  /** Position that it has replayed; undefined for a server without replay. */
  readonly replayed: LogPosition | undefined
  /** Timeline that it receives; null if it receives none, or the login role may not see it. */
  readonly timeline: number | null
}

const identity = sql`
    (select system_identifier::text from pg_control_system()) as system,
    current_database()::text as database,
    (select pg_database_collation_actual_version(oid) from pg_database where datname = current_database()) as collation`

/** Query of {@link PrimaryState}. */
export const primaryState: Sql = sql`
  select ${identity},
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline,
    pg_current_wal_flush_lsn()::text as flushed,
    pg_current_wal_insert_lsn()::text as inserted`

export interface PrimaryRow extends Identity {
  readonly timeline: number
  readonly flushed: string
  readonly inserted: string
}

/** Parses the row of {@link primaryState}. */
export function readPrimaryState({ flushed, inserted, ...known }: PrimaryRow): PrimaryState {
  const positionOf = (text: string) => endOfRecords(parseLogPosition(text) ?? 0n)
  return { ...known, flushed: positionOf(flushed), inserted: positionOf(inserted) }
}

const replicaState = sql`
  select ${identity},
    pg_is_in_recovery() as "isStandby",
    pg_last_wal_replay_lsn()::text as replayed,
    (select received_tli from pg_stat_wal_receiver) as timeline`

/** Reads the state of a replica. */
export async function findReplicaState(connection: Connection): Promise<ReplicaState> {
  const { rows } = await connection.query<Omit<ReplicaState, 'replayed'> & { replayed: string | null }>(
    replicaState,
  )
  const [found] = rows
  if (found === undefined) throw new Error('the probe returned no row')
  return { ...found, replayed: parseLogPosition(found.replayed ?? '') }
}

/** Aspect in which a server is no replica of the primary. */
export type MismatchKind = 'system' | 'database' | 'standby' | 'timeline' | 'collation'

/** Difference that makes a server unfit to be a replica of the primary. */
export interface Mismatch {
  readonly kind: MismatchKind
  readonly reason: string
}

/** Returns the first difference for which a server is no replica of the primary; undefined if it is one. */
export function findMismatch(replica: ReplicaState, primary: PrimaryState): Mismatch | undefined {
  if (replica.system !== primary.system)
    return { kind: 'system', reason: 'it is a copy of another cluster (system identifier)' }
  if (replica.database !== primary.database) {
    const reason = `its database is ${replica.database}, that of the primary ${primary.database}`
    return { kind: 'database', reason }
  }
  if (!replica.isStandby) {
    return { kind: 'standby', reason: 'it is not a standby: it was promoted, or is the primary itself' }
  }
  if (replica.timeline !== null && replica.timeline !== primary.timeline) {
    const reason = `it follows timeline ${replica.timeline}, the primary is on ${primary.timeline}`
    return { kind: 'timeline', reason }
  }
  if (replica.collation !== primary.collation) {
    const reason = `its collation version is ${replica.collation}, that of the primary ${primary.collation}: texts sort differently`
    return { kind: 'collation', reason }
  }
  return undefined
}
