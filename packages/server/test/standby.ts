import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { readBaseBackup } from '../src/database/embedded/base-backup.ts'
import { locateHome } from '../src/database/embedded/cluster.ts'
import type { ClusterSettings } from '../src/database/embedded/cluster-settings.ts'
import { giveTo } from '../src/database/embedded/os-user.ts'
import { readTar } from '../src/lib/tar.ts'
import { serveThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

/** Hot standby of a cluster, by streaming replication. */
export interface Standby extends ThrowAwayCluster {
  /** Makes it a primary with a timeline of its own. */
  promote(): Promise<void>
  /** Sets the delay by which it replays commits; 0 for none. */
  setDelay(ms: number): Promise<void>
  /** Replays no more, until {@link resume}. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Returns true if it has replayed everything that the primary has flushed. */
  hasCaughtUp(): Promise<boolean>
}

export interface StandbyOptions {
  /** Milliseconds by which it replays commits later than they were made. */
  readonly delayMs?: number
  readonly settings?: ClusterSettings
}

/** Starts a hot standby, made by a base backup over the replication protocol. */
export async function startStandby(
  primary: ThrowAwayCluster,
  { delayMs = 0, settings = {} }: StandbyOptions = {},
): Promise<Standby> {
  const cluster = await serveThrowAwayCluster(
    {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres`,
      recovery_min_apply_delay: `${delayMs}ms`,
      recovery_target_timeline: 'latest',
      wal_retrieve_retry_interval: '100ms',
      ...settings,
    },
    (directory) => copyPrimary(primary, directory),
  )
  return controlStandby(cluster, primary)
}

/** Starts a former primary, which has been stopped, as a standby of the new one. */
export async function followAsStandby(former: ThrowAwayCluster, primary: ThrowAwayCluster): Promise<Standby> {
  const { user, home } = locateHome(former.directory)
  const root = join(home, 'postgres')
  writeFileSync(
    join(root, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=postgres'\n`,
  )
  requestStandby(root, user)
  await former.start()
  return controlStandby(former, primary)
}

/** Makes PostgreSQL start as a standby on these files. */
function requestStandby(root: string, user: ReturnType<typeof locateHome>['user']): void {
  const signal = join(root, 'standby.signal')
  writeFileSync(signal, '')
  giveTo(user, signal)
}

function controlStandby(cluster: ThrowAwayCluster, primary: ThrowAwayCluster): Standby {
  const run = (text: string) => cluster.sql('postgres', text)
  return {
    ...cluster,
    // The spread would read it once.
    get pid() {
      return cluster.pid
    },
    async promote() {
      await run('select pg_promote(true, 60)')
    },
    async setDelay(ms) {
      await run(`alter system set recovery_min_apply_delay = '${ms}ms'`)
      await run('select pg_reload_conf()')
    },
    async pause() {
      await run('select pg_wal_replay_pause()')
      await waitFor('the replay to pause', async () => {
        const [found] = await run('select pg_get_wal_replay_pause_state() as state')
        return found?.state === 'paused'
      })
    },
    async resume() {
      await run('select pg_wal_replay_resume()')
    },
    async hasCaughtUp() {
      const [flushed] = await primary.sql('postgres', 'select pg_current_wal_flush_lsn() as lsn')
      const [found] = await run(`select pg_last_wal_replay_lsn() >= '${flushed?.lsn}'::pg_lsn as is_reached`)
      return found?.is_reached === true
    },
  }
}

/** Copies the files of a running cluster into a data directory, as a standby of it. */
async function copyPrimary(primary: ThrowAwayCluster, dataDirectory: string): Promise<void> {
  const { user, home } = locateHome(dataDirectory)
  const root = join(home, 'postgres')
  const make = (path: string) => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
    giveTo(user, path)
  }
  make(root)
  for await (const entry of readTar(readBaseBackup({ url: `${primary.url}/postgres` }))) {
    const path = join(root, entry.path)
    if (entry.kind === 'directory') make(path)
    else {
      const file = await open(path, 'wx', 0o600)
      for await (const part of entry.body) await file.writeFile(part)
      await file.close()
      giveTo(user, path)
    }
  }
  requestStandby(root, user)
}
