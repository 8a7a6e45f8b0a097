import inspector from 'node:inspector'
import { type AddressInfo, createServer, type Server } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { type App, createApp } from '../app.ts'
import type { Config } from '../configuration.ts'
import type { SharedSocket, SocketName } from '../http/listen.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { returnIdleMemory } from '../lib/idle-memory.ts'
import { createLogger } from '../log.ts'
import type { Machine, WorkerCount } from '../machine.ts'
import { readVersion } from '../package.ts'
import { reportStart } from '../start-report.ts'
import { ConnectionLoan } from './connection-loan.ts'
import { aliveMs, type FromWorker, protocol, type ToWorker } from './messages.ts'
import { ParentChannel } from './peers.ts'

/**
 * Serves requests as a worker until its parent stops it or ends.
 *
 * @param loadConfig reads the configuration of a reload
 * @throws OperatorError without a parent
 */
export function runWorker(loadConfig: () => Config): void {
  if (process.send === undefined) {
    throw new OperatorError('workers are started by `basalt start`, see server.workers', { exitCode: 2 })
  }
  new Worker(loadConfig)
}

/** Time for the parent to return the metrics of the other workers, which takes it a second if one is silent. */
const collectMs = 3000

type Start = Extract<ToWorker, { kind: 'start' }>

class Worker {
  readonly #loadConfig: () => Config
  readonly #interruption = new AbortController()
  readonly #handles = new Map<SocketName, object>()
  readonly #servers = new Map<SocketName, Server>()
  /** Servers on the sockets of other workers, by worker. */
  readonly #covers = new Map<number, Server[]>()
  /** Requests for metrics in flight. */
  readonly #collections = new Map<number, (texts: readonly string[]) => void>()
  readonly #loan = new ConnectionLoan({
    want: (wanted) => send({ kind: 'wantConnections', wanted }),
    confirm: (version) => send({ kind: 'confirmConnections', version }),
  })
  readonly #peers = new ParentChannel((message) => send({ kind: 'peer', message }))
  #lastCollection = 0
  #count: WorkerCount = { serving: 0, total: 0, isReloading: false }
  #starting: Promise<App> | undefined
  #app: App | undefined
  #isEnding = false

  constructor(loadConfig: () => Config) {
    this.#loadConfig = loadConfig
    send({ kind: 'hello', protocol, version: readVersion() })
    setInterval(() => send({ kind: 'alive', isInspected: inspector.url() !== undefined }), aliveMs).unref()
    process.on('message', (message, handle) => this.#receive(message as ToWorker, handle))
    process.once('disconnect', () => void this.#end())
    // A terminal sends these to the whole process group. The parent decides.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
    process.on('SIGTERM', () => void this.#end('drain'))
  }

  #receive(message: ToWorker, handle: unknown): void {
    switch (message.kind) {
      case 'socket':
        if (typeof handle === 'object' && handle !== null) this.#handles.set(message.name, handle)
        break
      case 'configure':
        this.#configure()
        break
      case 'start':
        void this.#start(message)
        break
      case 'count':
        this.#count = message.count
        break
      case 'limitConnections':
        this.#loan.receive(message)
        break
      case 'cover':
        this.#cover(message, handle as object)
        break
      case 'uncover':
        this.#uncover(message.worker)
        break
      case 'stop':
        void this.#end('drain')
        break
      case 'handOver':
        void this.#end('handOver')
        break
      case 'cutOff':
        this.#app?.cutOff()
        break
      case 'render':
        void this.#app?.metrics.render().then(({ text }) => send({ kind: 'rendered', id: message.id, text }))
        break
      case 'collected':
        this.#collections.get(message.id)?.(message.texts)
        this.#collections.delete(message.id)
        break
      case 'leader':
        this.#peers.setLeader(message.isLeader)
        break
      case 'peer':
        this.#peers.receive(message.message)
        break
      case 'store':
        this.#store(message.line)
        break
    }
  }

  #configure(): void {
    try {
      send({ kind: 'configured', config: this.#loadConfig() })
    } catch (error) {
      this.#refuse(error)
    }
  }

  async #start(start: Start): Promise<void> {
    if (this.#isEnding) return
    this.#count = start.count
    try {
      this.#starting = this.#listen(start)
      const app = await this.#starting
      if (this.#isEnding) return
      this.#app = app
      send({ kind: 'listening', report: reportStart(app, start.config) })
      returnIdleMemory()
      if (start.worker === 1 && start.config.admin.build) app.dashboard?.build(app.log)
    } catch (error) {
      // A stop in progress ends the process.
      if (this.#isEnding) return
      this.#refuse(error)
    }
  }

  /** Ends the worker after a mistake of the operator. */
  #refuse(error: unknown): void {
    // Any other error is a fault of ours, which Node prints with its stack.
    if (!(error instanceof OperatorError)) throw error
    const { message, exitCode } = error
    send({ kind: 'refused', message, exitCode }, undefined, () => process.exit(exitCode))
  }

  async #listen(start: Start): Promise<App> {
    const { config, worker } = start
    // The parent decides the layout of the lines.
    const log = await createLogger({ ...config.logging, format: 'json' }, false, report, { worker })
    const signal = this.#interruption.signal
    const app = await createApp({ config, log, machine: this.#machine(start), signal })
    this.#loan.attach(app.database.connections)
    try {
      await app.listen()
      return app
    } catch (error) {
      await app.close()
      throw error
    }
  }

  #machine({ worker, total, ports, reusePort }: Start): Machine {
    return {
      worker,
      total,
      ports: {
        socketOf: (name): SharedSocket => {
          const handle = this.#handles.get(name)
          return handle === undefined ? { port: ports.get(name), reusePort } : { handle }
        },
        onListening: (name, server, isOpened) => {
          this.#servers.set(name, server)
          const { port } = server.address() as AddressInfo
          if (isOpened) send({ kind: 'socket', name, port }, handleOf(server))
        },
      },
      peers: this.#peers,
      countWorkers: () => this.#count,
      collectMetrics: () => this.#collectMetrics(),
    }
  }

  /** Returns the metrics of the other workers. A parent that hangs returns none. */
  async #collectMetrics(): Promise<readonly string[]> {
    this.#lastCollection += 1
    const id = this.#lastCollection
    const collected = new Promise<readonly string[]>((resolve) => this.#collections.set(id, resolve))
    send({ kind: 'collect', id })
    const texts = await Promise.race([collected, delay(collectMs, [], { ref: false })])
    this.#collections.delete(id)
    return texts
  }

  /** Accepts the connections of another worker. They would wait until its replacement has started. */
  #cover({ worker, name }: Extract<ToWorker, { kind: 'cover' }>, handle: object): void {
    const own = this.#servers.get(name)
    if (own === undefined || this.#isEnding) return
    // These are the options with which Node creates the listener of an HTTP server.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      own.emit('connection', socket),
    )
    server.maxConnections = own.maxConnections
    server.listen(handle)
    this.#covers.set(worker, [...(this.#covers.get(worker) ?? []), server])
  }

  #uncover(worker: number): void {
    for (const server of this.#covers.get(worker) ?? []) server.close()
    this.#covers.delete(worker)
  }

  #store(line: string): void {
    const { level, time: _, msg, ...attrs } = JSON.parse(line)
    this.#app?.storedLog[level as 'info'](attrs, msg)
  }

  /** Ends the worker. @param preparation moves clients to other connections before that */
  async #end(preparation?: 'drain' | 'handOver'): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    for (const worker of [...this.#covers.keys()]) this.#uncover(worker)
    this.#interruption.abort()
    try {
      const app = await this.#starting?.catch(() => undefined)
      if (preparation !== undefined) await app?.[preparation]()
      await app?.close()
      process.exit(0)
    } catch (error) {
      report(`failed to stop a worker: ${messageOf(error)}`)
      process.exit(1)
    }
  }
}

function report(problem: string): void {
  process.stderr.write(`basalt: ${problem}\n`)
}

/** Sends a message, unless the parent has ended. */
function send(message: FromWorker, handle?: object, onSent: () => void = () => undefined): void {
  // The types of Node allow a server, whose copy in the parent would accept connections. Its handle does not.
  process.send?.(message, handle as Server | undefined, undefined, onSent)
}

/** Returns the handle of a server that listens (Node, `server.listen(handle)`). */
function handleOf(server: Server): object {
  return (server as unknown as { readonly _handle: object })._handle
}
