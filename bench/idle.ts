import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createClusterTemplate } from '../packages/server/test/cluster-template.ts'
import { startThrowAwayCluster } from '../packages/server/test/throw-away-cluster.ts'
import { startTransactionPooler } from '../packages/server/test/transaction-pooler.ts'
import { treeMicros } from './processor-time.ts'
import { createDirectory, startServer } from './server.ts'

/**
 * Measures transactions a second of a node without clients, for each kind of connection to the database. With
 * `workers` as argument, it compares numbers of workers, also by processor time and connections.
 */
const comparesWorkers = process.argv[2] === 'workers'
const seconds = comparesWorkers ? 60 : 15

using template = await createClusterTemplate()
await using cluster = await startThrowAwayCluster({}, template.directory)

async function measure(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const directory = createDirectory()
  const server = await startServer(directory, {
    BASALT_AUTH_JWT_SECRET: 'only for this measurement, 32 characters',
    ...env,
  })
  try {
    // Idle backends report the work of the start up to ten seconds later.
    await delay(12_000)
    const before = await countTransactions()
    const microsBefore = treeMicros(server.process.pid ?? 0)
    await delay(seconds * 1000)
    const perSecond = ((await countTransactions()) - before) / seconds
    const millis = (treeMicros(server.process.pid ?? 0) - microsBefore) / 1000 / seconds
    process.stdout.write(
      `${name.padEnd(52)} ${perSecond.toFixed(1)} transactions and ${millis.toFixed(0)} ms of processor time a second, ` +
        `${await countConnections()} connections\n`,
    )
  } finally {
    const ended = new Promise((resolve) => server.process.once('exit', resolve))
    server.process.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Counts transactions from another database, so that the count itself does not matter. */
async function countTransactions(): Promise<number> {
  const [row] = await cluster.sql<{ count: number }>(
    'template1',
    `select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = 'postgres'`,
  )
  return row?.count ?? 0
}

async function countConnections(): Promise<number> {
  const [row] = await cluster.sql<{ count: number }>(
    'template1',
    `select count(*)::int as count from pg_stat_activity where datname = 'postgres'`,
  )
  return row?.count ?? 0
}

const direct = `${cluster.url}/postgres`
const target = { target: cluster.port, user: 'postgres', database: 'postgres', sessions: 5 }
await using pooler = await startTransactionPooler(target)
const pooled = `postgresql://postgres@127.0.0.1:${pooler.port}/postgres`
const loopAlone = { BASALT_JOBS_ENABLED: 'false', BASALT_WEBHOOKS_DELIVER: 'false' }

if (comparesWorkers) {
  for (const workers of ['1', '2', '4']) {
    await measure(`${workers} workers`, { BASALT_DATABASE_URL: direct, BASALT_SERVER_WORKERS: workers })
  }
} else {
  for (const [name, env] of [
    ['LISTEN', { BASALT_DATABASE_URL: direct }],
    [
      'pooler, LISTEN by database.listen_url',
      { BASALT_DATABASE_URL: pooled, BASALT_DATABASE_LISTEN_URL: direct },
    ],
    ['pooler without LISTEN', { BASALT_DATABASE_URL: pooled }],
  ] as const) {
    await measure(name, env)
    await measure(`${name}, no jobs and webhooks`, { ...env, ...loopAlone })
  }
}
