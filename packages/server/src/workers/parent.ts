import type { Logger } from 'pino'
import { countWorkers, fewestConnections } from '../config/workers.ts'
import type { Config } from '../configuration.ts'
import { openEmbedded } from '../database/open.ts'
import { untilAborted } from '../lib/abort.ts'
import { OperatorError } from '../lib/errors.ts'
import { divertLog, tapLog } from '../lib/log-tap.ts'
import { resolveLogging } from '../log.ts'
import type { WorkerCount } from '../machine.ts'
import { readVersion } from '../package.ts'
import type { StartReport } from '../start-report.ts'
import { ConnectionLedger } from './connections.ts'
import { requireReloadable } from './fixed-keys.ts'
import { Generation, type Setup } from './generation.ts'
import { aliveMs, type FromWorker, type ToWorker } from './messages.ts'
import { MetricsCollection } from './metrics-collection.ts'
import { type Reload, Reloads } from './reloads.ts'
import { Replacements } from './replacements.ts'
import { Sockets } from './sockets.ts'
import type { Handle, WorkerProcess } from './worker-process.ts'

export interface WorkersOptions {
  readonly config: Config
  readonly total: number
  readonly log: Logger
  /** Path of the executable, which runs a worker by the command `worker`. */
  readonly executable: string
  /** Flags of the configuration. */
  readonly flags: readonly string[]
  /** True if the log is written to a terminal. */
  readonly isTerminal: boolean
  readonly stderr: Pick<NodeJS.WriteStream, 'write'>
  readonly signal: AbortSignal
  /** Called with the processes of all workers when one is started. */
  readonly onLaunch: (pids: readonly number[]) => void
  /** Called once when workers crash again and again. */
  readonly onFailure: (reason: string) => void
  /** Called when a reload begins and ends. */
  readonly onReload: (reload: Reload) => void
  /** Called with the report of workers that have replaced others. */
  readonly onReplaced: (report: StartReport, config: Config) => void
}

/** Running workers. They stop like a server of one process. */
export interface Workers {
  readonly log: Logger
  readonly storedLog: Logger
  readonly report: StartReport
  /** Replaces the workers by others with the configuration and the executable of now. */
  reload(): void
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
      reload: () => parent.reload(),
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
  /** Workers that serve. */
  #active: Generation
  #replacements: Replacements
  /** Workers that a reload starts. */
  #next: Generation | undefined
  /** Workers that complete their requests after a reload. */
  readonly #retired = new Set<Generation>()
  readonly #sockets = new Sockets()
  readonly #connections: ConnectionLedger<WorkerProcess>
  readonly #metrics = new MetricsCollection()
  readonly #reloads: Reloads
  readonly #check: NodeJS.Timeout
  #lastCount: WorkerCount = { serving: 0, total: 0, isReloading: false }
  #hasStarted = false
  #stopping: Promise<void> | undefined

  constructor(options: WorkersOptions) {
    this.#options = options
    const store = (line: string) => this.#active.serving[0]?.tell({ kind: 'store', line })
    this.log = tapLog(options.log, store)
    this.storedLog = divertLog(options.log, store)
    const { config, total } = options
    this.#connections = new ConnectionLedger(
      {
        minimum: fewestConnections,
        send: (worker, message) => worker.tell({ kind: 'limitConnections', ...message }),
      },
      { total: config.database.max_conns, workers: total },
    )
    this.#active = this.#createGeneration(readVersion(), { config, total })
    this.#replacements = this.#createReplacements(this.#active)
    this.#reloads = new Reloads({ log: this.log, run: () => this.#reload(), onChange: options.onReload })
    this.#check = setInterval(() => {
      for (const generation of this.#generations()) for (const worker of generation.workers) worker.check()
      this.#handleChange()
    }, aliveMs)
  }

  async start(): Promise<StartReport> {
    const report = await this.#active.start()
    this.#hasStarted = true
    // One that listened may have ended while the others started.
    this.#active.launchMissing()
    return report
  }

  reload(): void {
    if (this.#hasStarted && this.#stopping === undefined) this.#reloads.request()
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
    for (const generation of this.#generations()) for (const worker of generation.workers) worker.kill()
  }

  async #stop(): Promise<void> {
    this.#replacements.cancel()
    this.#sockets.close()
    await Promise.all(this.#generations().map((generation) => generation.end({ kind: 'stop' })))
    clearInterval(this.#check)
  }

  /** Starts workers beside the active ones, and lets them take over. */
  async #reload(): Promise<{ workers: number; version: string }> {
    const next = this.#createGeneration(undefined, undefined)
    this.#next = next
    this.#handleChange()
    try {
      const report = await next.start()
      if (this.#stopping !== undefined) throw new OperatorError('the server is stopping')
      const { config, total } = next.setup
      this.#replacements.cancel()
      this.#retire(this.#active)
      this.#active = next
      this.#next = undefined
      this.#replacements = this.#createReplacements(next)
      for (const log of [this.#options.log, this.log, this.storedLog]) log.level = config.logging.level
      this.#handleChange()
      this.#options.onReplaced(report, config)
      return { workers: total, version: next.version ?? '' }
    } catch (error) {
      this.#next = undefined
      this.#retire(next)
      this.#handleChange()
      throw this.#stopping === undefined ? error : new OperatorError('the server is stopping')
    }
  }

  /** Lets the workers of a generation leave their sockets to those of the active one, and end. */
  #retire(generation: Generation): void {
    this.#retired.add(generation)
    void generation.end({ kind: 'handOver' }).then(() => this.#retired.delete(generation))
  }

  #createGeneration(version: string | undefined, setup: Setup | undefined): Generation {
    const { executable, flags, log, stderr } = this.#options
    return new Generation({
      ...{ executable, flags, log, stderr, version, setup },
      ...{ sockets: this.#sockets, connections: this.#connections },
      accept: (config) => this.#accept(config),
      onSetUp: () => this.#planConnections(),
      count: () => this.#count(),
      onWait: (worker, config) => this.#reportWait(worker, config),
      onLaunch: () => this.#options.onLaunch(this.#pids()),
      onMessage: (generation, worker, message, handle) => this.#receive(generation, worker, message, handle),
      onEnd: (generation, worker) => this.#handleEnd(generation, worker),
    })
  }

  #createReplacements(generation: Generation): Replacements {
    return new Replacements({
      log: this.log,
      launch: (number) => generation.launch(number),
      onFailure: this.#options.onFailure,
    })
  }

  #accept(read: Config): Setup {
    const config = { ...read, logging: resolveLogging(read.logging, this.#options.isTerminal) }
    requireReloadable(this.#active.setup.config, config)
    return { config, total: countWorkers(config) }
  }

  #receive(generation: Generation, worker: WorkerProcess, message: FromWorker, handle: unknown): void {
    switch (message.kind) {
      case 'socket':
        this.#sockets.keep(worker.number, message, handle as Handle)
        break
      case 'listening':
        this.#handleChange()
        if (this.#hasStarted && generation === this.#active)
          this.log.info({ worker: worker.number }, 'the new worker serves')
        break
      case 'collect':
        void this.#metrics
          .collect(generation.serving.filter((other) => other !== worker))
          .then((texts) => worker.tell({ kind: 'collected', id: message.id, texts }))
        break
      case 'rendered':
        this.#metrics.receive(message)
        break
    }
  }

  #reportWait({ number, pid }: WorkerProcess, { database }: Config): void {
    this.log.warn(
      { worker: number, pid, maxConns: database.max_conns },
      `a new worker waits for ${fewestConnections} database connections; it starts when statements of the previous ` +
        'workers end, which use those of database.max_conns',
    )
  }

  #handleEnd(generation: Generation, worker: WorkerProcess): void {
    this.#handleChange()
    const { number, pid, exit } = worker
    if (this.#retired.has(generation) && exit?.code !== 0)
      this.log.warn({ worker: number, pid, ...exit }, 'a worker has ended before its requests in flight')
    // A start and a reload report their failures themselves.
    if (this.#stopping !== undefined || !this.#hasStarted || generation !== this.#active) return
    this.#replacements.replace(worker, generation.serving.length > 0)
  }

  /** Adapts to workers that have begun or ceased to serve. */
  #handleChange(): void {
    const count = this.#count()
    const { serving, total, isReloading } = this.#lastCount
    if (count.serving !== serving || count.total !== total || count.isReloading !== isReloading)
      this.#tellAll({ kind: 'count', count })
    this.#lastCount = count
    this.#planConnections()
    if (this.#stopping === undefined) for (const generation of this.#generations()) generation.updateLeader()
    if (this.#hasStarted && this.#stopping === undefined) this.#sockets.cover(this.#active.serving)
  }

  /** Reserves connections for the workers of all generations. */
  #planConnections(): void {
    const next = this.#next?.isSetUp ? this.#next : undefined
    const retired = [...this.#retired].reduce((sum, { workers }) => sum + workers.length, 0)
    this.#connections.plan({
      total: (next ?? this.#active).setup.config.database.max_conns,
      workers: this.#active.setup.total + (next?.setup.total ?? 0) + retired,
    })
  }

  #count(): WorkerCount {
    const { serving, setup } = this.#active
    return { serving: serving.length, total: setup.total, isReloading: this.#next !== undefined }
  }

  #pids(): number[] {
    return this.#generations().flatMap(({ workers }) => workers.flatMap(({ pid }) => pid ?? []))
  }

  #generations(): readonly Generation[] {
    return [this.#active, ...(this.#next === undefined ? [] : [this.#next]), ...this.#retired]
  }

  #tellAll(message: ToWorker): void {
    for (const generation of this.#generations()) generation.tellAll(message)
  }
}
