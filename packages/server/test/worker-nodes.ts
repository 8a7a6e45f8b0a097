import { type ServerProcess, startServer } from './server-process.ts'
import type { TestAppOptions, TestDatabase, TestNode } from './test-app.ts'
import { testFlags } from './test-config.ts'
import { findFreePort } from './throw-away-cluster.ts'
import { openWorkerAddresses, type WorkerAddresses } from './worker-processes.ts'

/** Number of workers in the project `workers`, whose nodes are the workers of one server; otherwise 0. */
const workerCount = Number(process.env.BASALT_TEST_WORKERS ?? 0)

export const nodesAreWorkers = workerCount > 0

/** Server whose workers are nodes. It stops with the last of them. */
interface Machine {
  readonly config: string
  readonly server: ServerProcess
  readonly addresses: WorkerAddresses
  readonly free: string[]
  nodes: number
}

/** Servers by their database. */
const machines = new WeakMap<TestDatabase, Machine[]>()

/**
 * Returns a worker as a node: a free one of a server on this database with this configuration, or else of a new one.
 *
 * @throws Error for options that replace a part of the process
 */
export async function openWorkerNode(
  database: TestDatabase,
  { config = {}, ...options }: TestAppOptions,
): Promise<TestNode> {
  const { clock, changes, resolve, resolveTxt, reachProvider, providerStandIn } = options
  const { dashboardFiles, docsSite } = options
  const parts = [
    clock,
    changes,
    resolve,
    resolveTxt,
    reachProvider,
    providerStandIn,
    dashboardFiles,
    docsSite,
  ]
  if (parts.some((part) => part !== undefined))
    throw new Error('a worker has its parts in a process of its own')
  const open = machines.get(database) ?? []
  machines.set(database, open)
  const key = JSON.stringify(config)
  let machine = open.find((candidate) => candidate.config === key && candidate.free.length > 0)
  if (machine === undefined) {
    machine = await startMachine(database, config, key)
    open.push(machine)
  }
  return nodeOf(machine)
}

async function startMachine(
  database: TestDatabase,
  config: Readonly<Record<string, string>>,
  key: string,
): Promise<Machine> {
  const flags = testFlags({ 'database.url': database.url, 'logging.level': 'info', ...config })
  const port = await findFreePort()
  const server = await startServer({
    config: {
      ...flags,
      'server.port': String(port),
      'server.workers': String(workerCount),
      // Each worker has the connections of a node.
      'database.max_conns': String(workerCount * Number(flags['database.max_conns'])),
    },
  })
  // The log has the public address.
  const addresses = await openWorkerAddresses({ pid: server.pid, url: `http://127.0.0.1:${port}` })
  return { config: key, server, addresses, free: [...addresses.urls], nodes: 0 }
}

function nodeOf(machine: Machine): TestNode {
  const { server, addresses } = machine
  const url = machine.free.shift() ?? ''
  machine.nodes += 1
  return {
    get app(): never {
      throw new Error('a worker has its parts in a process of its own')
    },
    url,
    get log() {
      return server.log().map((line) => JSON.stringify({ ...line, level: levels[String(line.level)] }))
    },
    async close() {
      machine.nodes -= 1
      if (machine.nodes > 0) return
      machine.free.length = 0
      await server.stop()
      await addresses[Symbol.asyncDispose]()
    },
  }
}

/** Levels as a log without names has them. */
const levels: Readonly<Record<string, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
}
