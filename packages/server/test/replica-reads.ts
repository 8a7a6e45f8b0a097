import { inject } from 'vitest'
import { formatLogPosition, laterOf, parseLogPosition } from '../src/database/replicas/log-position.ts'

/** Milliseconds by which the replica of the project `replica` lags; undefined in other projects. */
export const replicaLagMs =
  process.env.BASALT_TEST_REPLICA === undefined ? undefined : Number(process.env.BASALT_TEST_REPLICA)

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser's URL of the standby of the test cluster, without a database; empty where there is none. */
    replicaUrl: string
  }
}

/** Returns true if apps of this project have a replica. */
export function haveReplica(): boolean {
  return replicaLagMs !== undefined && inject('replicaUrl') !== ''
}

/** Returns the configuration of an app with a replica. Its reads wait for the replica, so that it serves them. */
export function replicaConfig(databaseUrl: string): Readonly<Record<string, string>> {
  return {
    'database.replica_urls': `${inject('replicaUrl')}${new URL(databaseUrl).pathname}`,
    'database.replica_wait_ms': '1000',
    // A busy machine may be late by more than the lag.
    'database.replica_max_lag_ms': '60000',
  }
}

/** Position of the last write to a database, as a client keeps it. */
export class LastWrite {
  #position = 0n

  /** Header of a read; none before the first write. */
  get headers(): Readonly<Record<string, string>> {
    return this.#position === 0n ? {} : { 'x-basalt-position': formatLogPosition(this.#position) }
  }

  store(position: string | null | undefined): void {
    this.#position = laterOf(this.#position, parseLogPosition(position ?? '') ?? 0n)
  }
}

let readsOnReplicas = 0

/** Adds to the number of reads that replicas have served in this file. */
export function countReplicaReads(reads: number): void {
  readsOnReplicas += reads
}

/** Returns the number of reads that replicas have served, and counts from 0 again. */
export function takeReplicaReads(): number {
  const reads = readsOnReplicas
  readsOnReplicas = 0
  return reads
}
