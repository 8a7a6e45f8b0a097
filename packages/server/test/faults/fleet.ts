import { sendRequest } from '../send-request.ts'
import { type Ending, type ServerProcess, startServer } from '../server-process.ts'
import { findFreePort } from '../throw-away-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { isRunning, openWorkerAddresses, workersOf } from '../worker-processes.ts'

type Config = Readonly<Record<string, string>>

/** Two processes that serve one database. */
export interface Fleet extends AsyncDisposable {
  /** Addresses that clients may use. They remain the same. */
  readonly urls: readonly string[]
  /** Opens an address of each process as it is now. */
  openAddresses(): Promise<{ readonly urls: readonly string[] } & AsyncDisposable>
  /** Kills the process of an address. */
  kill(index: number): Promise<void>
  /** Kills one process, or several that end together, and waits until others serve in their place. */
  replaceNext(): Promise<void>
  stop(): Promise<readonly Ending[]>
}

/** Number of replacements after which each kind of end has happened. */
export const replacements = 4

/** Kinds of fleets, for `describe.each` and `test.each`. */
export const fleets: readonly (readonly [name: string, start: (config: Config) => Promise<Fleet>])[] = [
  ['two nodes', startNodes],
  ['two workers of one machine', startMachine],
]

async function startNodes(config: Config): Promise<Fleet> {
  const ports = [await findFreePort(), await findFreePort()]
  const start = (port: number) => startServer({ config: { ...config, 'server.port': String(port) } })
  const nodes = await Promise.all(ports.map(start))
  const urls = nodes.map(({ url }) => url)
  let count = 0
  return {
    urls,
    openAddresses: async () => ({ urls, [Symbol.asyncDispose]: async () => undefined }),
    async kill(index) {
      await nodes[index]?.stop('SIGKILL')
    },
    async replaceNext() {
      const index = count % nodes.length
      count += 1
      await nodes[index]?.stop('SIGKILL')
      nodes[index] = await start(ports[index] ?? 0)
    },
    stop: () => Promise.all(nodes.map((node) => node.stop())),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    },
  }
}

async function startMachine(config: Config): Promise<Fleet> {
  const port = String(await findFreePort())
  const start = () => startServer({ config: { ...config, 'server.port': port, 'server.workers': '2' } })
  let server = await start()
  const { url } = server
  let count = 0
  const replace = async (pids: readonly number[]) => {
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await waitFor('the replacements', async () => (await isComplete(server)) && !pids.some(isRunning))
  }
  /** Ends of one worker, of the other one, of the parent, and of both workers. */
  const ends = [
    () => replace(workersOf(server).slice(0, 1)),
    () => replace(workersOf(server).slice(0, 1)),
    async () => {
      await server.stop('SIGKILL')
      server = await start()
    },
    () => replace(workersOf(server)),
  ]
  return {
    urls: [url],
    openAddresses: () => openWorkerAddresses(server),
    async kill(index) {
      const pid = workersOf(server)[index] ?? 0
      process.kill(pid, 'SIGKILL')
      await waitFor('the end of the worker', () => !isRunning(pid))
    },
    async replaceNext() {
      await ends[count % ends.length]?.()
      count += 1
    },
    stop: async () => [await server.stop()],
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
    },
  }
}

async function isComplete(server: ServerProcess): Promise<boolean> {
  const health = await sendRequest('GET', `${server.url}/health`).catch(() => undefined)
  return workersOf(server).length === 2 && health?.json.workers.serving === 2
}
