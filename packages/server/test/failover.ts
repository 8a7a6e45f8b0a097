import { loadTable } from './load.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { type Standby, startStandby } from './standby.ts'
import { startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

/** Primary with the table of the load, and a standby. */
export interface Pair {
  readonly first: ThrowAwayCluster
  readonly second: Standby
  /** URL that names both. */
  readonly url: string
}

/** @param cleanUp gets what has to be disposed of */
export async function startPair(isSynchronous: boolean, cleanUp: AsyncDisposable[]): Promise<Pair> {
  const first = await startThrowAwayCluster()
  cleanUp.push(first)
  await first.sql('postgres', 'create database shop')
  await first.sql('shop', loadTable)
  const second = await startStandby(first)
  cleanUp.push(second)
  await waitFor('the standby', () => second.hasCaughtUp())
  if (isSynchronous) {
    await first.sql('postgres', `alter system set synchronous_standby_names = '*'`)
    await first.sql('postgres', 'select pg_reload_conf()')
    await waitFor('synchronous replication', async () => {
      const found = await first.sql('postgres', `select from pg_stat_replication where sync_state = 'sync'`)
      return found.length === 1
    })
  }
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`
  return { first, second, url: `postgresql://postgres@${hosts}/shop?target_session_attrs=read-write` }
}

/** @param cleanUp gets what has to be disposed of */
export async function startNodes(
  url: string,
  cleanUp: AsyncDisposable[],
  { count = 2, workers = 1, config = {} as Readonly<Record<string, string>> } = {},
): Promise<readonly ServerProcess[]> {
  const nodes = await Promise.all(
    Array.from({ length: count }, () =>
      startServer({ config: { 'database.url': url, 'server.workers': String(workers), ...config } }),
    ),
  )
  cleanUp.push(...nodes)
  return nodes
}

/** Counts the rows of the load's table by their keys. */
export async function countKeys(cluster: ThrowAwayCluster): Promise<ReadonlyMap<string, number>> {
  const query = 'select key, count(*)::int as count from item group by key'
  const rows = await cluster.sql<{ key: string; count: number }>('shop', query)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
