import type { TestProject } from 'vitest/node'
import { startStandby } from './standby.ts'

/** Starts a standby of the test cluster, which replays commits as late as the project says. An external server has none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const opened = await globalThis.basaltTestCluster
  const { cluster } = opened ?? {}
  project.provide('replicaUrl', '')
  if (cluster === undefined) return async () => undefined
  // Without synchronous commits, a standby receives a commit only once the log writer has written it.
  await cluster.sql('postgres', `alter system set wal_writer_delay = '10ms'`)
  await cluster.sql('postgres', 'select pg_reload_conf()')
  const standby = await startStandby(cluster, {
    delayMs: Number(project.config.env.BASALT_TEST_REPLICA),
    settings: { max_connections: '400' },
  })
  project.provide('replicaUrl', standby.url)
  return async () => await standby[Symbol.asyncDispose]()
}
