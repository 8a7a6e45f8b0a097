import type { Logger } from 'pino'
import { fewestConnections } from '../config/workers.ts'
import type { Config } from '../configuration.ts'
import { openEmbedded } from '../database/open.ts'
import { untilAborted } from '../lib/abort.ts'
import { divertLog, tapLog } from '../lib/log-tap.ts'
import type { WorkerCount } from '../machine.ts'
import { embeddedPassword } from '../secrets.ts'
import type { StartReport } from '../start-report.ts'
import { ConnectionLedger } from './connections.ts'
import { Lead } from './lead.ts'
import { aliveMs, type FromWorker, type ToWorker } from './messages.ts'
import { MetricsCollection } from './metrics-collection.ts'
import { Replacements } from './replacements.ts'
import { canReusePort, Sockets } from './sockets.ts'
import { type Handle, type ProcessHost, WorkerProcess } from './worker-process.ts'

/** Time within which PostgreSQL ends the idle sessions of a killed process. */
const sessionEndMs = 1000

export interface WorkersOptions {
  readonly config: Config
  readonly total: number
  readonly log: Logger
  /** Path of the executable, which runs a worker by the command `worker`. */
  readonly executable: string
  readonly stderr: Pick<NodeJS.WriteStream, 'write'>
  readonly signal: AbortSignal
  /** Called with the processes of all workers when one is started. */
  readonly onLaunch: (pids: readonly number[]) => void
  /** Called once when workers crash again and again. */
  readonly onFailure: (reason: string) => void
}

/** Running workers. They stop like a server of one process. */
export interface Workers {
  readonly log: Logger
  readonly storedLog: Logger
  readonly report: StartReport
  drain(): Promise<void>
  cutOff(): void
  /** Kills the workers. */
  kill(): void
  close(): Promise<void>
}

/**
 * Starts the embedded database and the workers. Resolves when all of them listen.
 *
 * @throws OperatorError with the reason for which a worker could not start
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { config, signal } = options
  const parent = new Parent(options)
  const embedded =
    config.database.url === ''
      ? await openEmbedded(
          config,
          {
            purpose: 'basalt start',
            log: (message, detail = {}) => parent.log.warn(detail, message),
            embeddedPassword: embeddedPassword(config),
            signal,
          },
          true,
        )
      : undefined
  const close = async () => {
    await parent.stop()
    await embedded?.close()
  }
  try {
    const report = await untilAborted(signal, parent.start())
    return {
      ...{ log: parent.log, storedLog: parent.storedLog, report, close },
      async drain() {
        void parent.stop()
      },
      cutOff: () => parent.cutOff(),
      kill: () => parent.kill(),
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Workers of a machine. Each concern is a module of its own; this class connects them. */
class Parent {
  readonly log: Logger
  readonly storedLog: Logger
  readonly #options: WorkersOptions
  readonly #host: ProcessHost
  readonly #workers = new Map<number, WorkerProcess>()
  readonly #sockets = new Sockets()
  readonly #metrics = new MetricsCollection()
  readonly #connections: ConnectionLedger<WorkerProcess>
  readonly #replacements: Replacements
  readonly #lead = new Lead<WorkerProcess>((worker, message) => worker.tell(message))
  readonly #check: NodeJS.Timeout
  #lastCount = 0
  #hasStarted = false
  #stopping: Promise<void> | undefined

  constructor(options: WorkersOptions) {
    this.#options = options
    const store = (line: string) => this.#serving()[0]?.tell({ kind: 'store', line })
    this.log = tapLog(options.log, store)
    this.storedLog = divertLog(options.log, store)
    this.#connections = new ConnectionLedger({
      total: options.config.database.max_conns,
      minimum: fewestConnections,
      planned: options.total,
      send: (worker, message) => worker.tell({ kind: 'limitConnections', ...message }),
    })
    this.#host = {
      ...options,
      onMessage: (worker, message, handle) => this.#receive(worker, message, handle),
      onEnd: (worker) => this.#handleEnd(worker),
    }
    this.#replacements = new Replacements({
      log: this.log,
      launch: (number) => this.#launch(number),
      onFailure: options.onFailure,
    })
    this.#check = setInterval(() => {
      for (const worker of this.#workers.values()) worker.check()
      this.#handleChange()
    }, aliveMs)
  }

  /** Starts one worker, which prepares the database, and then the others. */
  async start(): Promise<StartReport> {
    const report = await this.#launch(1).listening
    const others = Array.from({ length: this.#options.total - 1 }, (_, index) => this.#launch(index + 2))
    await Promise.all(others.map(({ listening }) => listening))
    this.#hasStarted = true
    // One that listened may have ended while the others started.
    for (let number = 1; number <= this.#options.total; number += 1)
      if (!this.#workers.has(number)) this.#launch(number)
    return report
  }

  /** Lets the workers complete their requests, and waits for their ends. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  cutOff(): void {
    this.#tellAll({ kind: 'cutOff' })
  }

  kill(): void {
    for (const worker of this.#workers.values()) worker.kill()
  }

  async #stop(): Promise<void> {
    this.#replacements.cancel()
    this.#sockets.close()
    this.#tellAll({ kind: 'stop' })
    await Promise.all([...this.#workers.values()].map(({ ended }) => ended))
    clearInterval(this.#check)
  }

  #launch(number: number): WorkerProcess {
    const worker = new WorkerProcess(number, this.#host)
    this.#workers.set(number, worker)
    this.#options.onLaunch([...this.#workers.values()].flatMap(({ pid }) => pid ?? []))
    this.#sockets.pass(worker)
    worker.tell({
      kind: 'start',
      config: this.#configOf(worker),
      worker: number,
      count: this.#count(),
      ports: this.#sockets.ports,
      reusePort: canReusePort,
    })
    return worker
  }

  /** Returns the configuration of a worker, which has its part of what belongs to the machine. */
  #configOf(worker: WorkerProcess): Config {
    const { config, total } = this.#options
    const max_conns = this.#connections.add(worker) ?? fewestConnections
    return {
      ...config,
      server: { ...config.server, workers: total },
      database: { ...config.database, max_conns },
    }
  }

  #receive(worker: WorkerProcess, message: FromWorker, handle: unknown): void {
    switch (message.kind) {
      case 'socket':
        this.#sockets.keep(worker.number, message, handle as Handle)
        break
      case 'listening':
        this.#handleChange()
        if (this.#hasStarted) this.log.info({ worker: worker.number }, 'the new worker serves')
        break
      case 'wantConnections':
        this.#connections.want(worker, message.wanted)
        break
      case 'confirmConnections':
        this.#connections.confirm(worker, message.version)
        break
      case 'collect':
        void this.#metrics
          .collect(this.#serving().filter((other) => other !== worker))
          .then((texts) => worker.tell({ kind: 'collected', id: message.id, texts }))
        break
      case 'rendered':
        this.#metrics.receive(message)
        break
      case 'peer':
        this.#lead.pass(worker, message.message, this.#workers.values())
        break
    }
  }

  #handleEnd(worker: WorkerProcess): void {
    this.#workers.delete(worker.number)
    const closing = this.#connections.remove(worker)
    setTimeout(() => this.#connections.settle(closing), sessionEndMs).unref()
    this.#handleChange()
    // The start reports its failure itself.
    if (this.#stopping !== undefined || !this.#hasStarted) return
    this.#replacements.replace(worker, this.#count().serving > 0)
  }

  /** Adapts to workers that have begun or ceased to serve. */
  #handleChange(): void {
    const count = this.#count()
    if (count.serving !== this.#lastCount) this.#tellAll({ kind: 'count', count })
    this.#lastCount = count.serving
    if (this.#stopping === undefined) this.#lead.update(this.#serving(), this.#workers.values())
    if (this.#hasStarted && this.#stopping === undefined) this.#sockets.cover(this.#serving())
  }

  #serving(): WorkerProcess[] {
    return [...this.#workers.values()].filter(({ isServing }) => isServing)
  }

  #count(): WorkerCount {
    return { serving: this.#serving().length, total: this.#options.total }
  }

  #tellAll(message: ToWorker): void {
    for (const worker of this.#workers.values()) worker.tell(message)
  }
}
