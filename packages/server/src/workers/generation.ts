import type { Config } from '../configuration.ts'
import { OperatorError } from '../lib/errors.ts'
import type { WorkerCount } from '../machine.ts'
import type { StartReport } from '../start-report.ts'
import type { ConnectionLedger } from './connections.ts'
import { Leader } from './leader.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { canReusePort, type Sockets } from './sockets.ts'
import { type ProcessHost, WorkerProcess } from './worker-process.ts'

/** Time within which PostgreSQL ends the idle sessions of a killed process. */
const sessionEndMs = 1000
/** Time after which the wait of a worker for database connections is reported. */
const reportWaitMs = 5000

/** Configuration and number of the workers of a generation. */
export interface Setup {
  readonly config: Config
  readonly total: number
}

export interface GenerationOptions extends Pick<ProcessHost, 'executable' | 'flags' | 'log' | 'stderr'> {
  readonly sockets: Sockets
  /** Database connections of the machine. */
  readonly connections: ConnectionLedger<WorkerProcess>
  /** Version of the workers; undefined until the first one reports it. */
  readonly version: string | undefined
  /** Setup of the workers; undefined if the first one reads the configuration. */
  readonly setup: Setup | undefined
  /** Returns the setup for a configuration that the first worker has read. @throws OperatorError if it is unsuitable */
  readonly accept: (config: Config) => Setup
  /** Called when the first worker has read the configuration, before workers start with it. */
  readonly onSetUp: () => void
  readonly count: () => WorkerCount
  /** Called when a worker cannot start for lack of database connections. */
  readonly onWait: (worker: WorkerProcess, config: Config) => void
  /** Called when a worker has been started. */
  readonly onLaunch: () => void
  readonly onMessage: (
    generation: Generation,
    worker: WorkerProcess,
    message: FromWorker,
    handle: unknown,
  ) => void
  /** Called when a worker has ended after the start of the generation. */
  readonly onEnd: (generation: Generation, worker: WorkerProcess) => void
}

/** Workers of one configuration and one version. A reload replaces a generation by the next one. */
export class Generation {
  readonly #options: GenerationOptions
  readonly #workers = new Map<number, WorkerProcess>()
  /** Leader of these workers. Those of another version or configuration may watch other parts of the database. */
  readonly #leader = new Leader<WorkerProcess>((worker, message) => worker.tell(message))
  readonly #failure = Promise.withResolvers<never>()
  #setup: Setup | undefined
  #version: string | undefined
  #isEnding = false

  constructor(options: GenerationOptions) {
    this.#options = options
    this.#version = options.version
    this.#failure.promise.catch(() => undefined)
    this.#setup = options.setup
  }

  get version(): string | undefined {
    return this.#version
  }

  /** Setup of a generation that has started. */
  get setup(): Setup {
    if (this.#setup === undefined) throw new Error('the generation has no configuration yet')
    return this.#setup
  }

  /** True if the configuration is known. */
  get isSetUp(): boolean {
    return this.#setup !== undefined
  }

  get workers(): readonly WorkerProcess[] {
    return [...this.#workers.values()]
  }

  get serving(): readonly WorkerProcess[] {
    return this.workers.filter(({ isServing }) => isServing)
  }

  /**
   * Starts one worker, which prepares the database, and then the others. Resolves when all of them listen.
   *
   * @throws OperatorError with the reason of the first worker that ends before that
   */
  start(): Promise<StartReport> {
    return Promise.race([this.#startAll(), this.#failure.promise])
  }

  launch(number: number): WorkerProcess {
    const { executable, flags, log, stderr, connections, onMessage, onEnd } = this.#options
    const worker = new WorkerProcess(number, {
      ...{ executable, flags, log, stderr },
      onMessage: (sender, message, handle) => {
        this.#receive(sender, message)
        onMessage(this, sender, message, handle)
      },
      onEnd: (ended) => {
        if (this.#workers.get(number) === ended) this.#workers.delete(number)
        const closing = connections.remove(ended)
        setTimeout(() => connections.settle(closing), sessionEndMs).unref()
        // A start replaces a worker that has listened. A reload does not, and leaves the previous workers in place.
        if (!ended.hasListened || this.#options.setup === undefined) this.#failure.reject(ended.failure)
        onEnd(this, ended)
      },
    })
    this.#workers.set(number, worker)
    this.#options.onLaunch()
    return worker
  }

  updateLeader(): void {
    this.#leader.update(this.serving, this.workers)
  }

  launchMissing(): void {
    for (let number = 1; number <= this.setup.total; number += 1)
      if (!this.#workers.has(number)) this.launch(number)
  }

  /** Ends the workers, and waits for their ends. @param message way in which they end */
  async end(message: Extract<ToWorker, { kind: 'stop' | 'handOver' }>): Promise<void> {
    this.#isEnding = true
    this.tellAll(message)
    await Promise.all(this.workers.map(({ ended }) => ended))
  }

  tellAll(message: ToWorker): void {
    for (const worker of this.#workers.values()) worker.tell(message)
  }

  async #startAll(): Promise<StartReport> {
    const report = await this.launch(1).listening
    if (this.#isEnding) throw new OperatorError('the workers are stopping')
    const others = Array.from({ length: this.setup.total - 1 }, (_, index) => this.launch(index + 2))
    await Promise.all(others.map(({ listening }) => listening))
    return report
  }

  #receive(worker: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'hello':
        this.#greet(worker, message.version)
        break
      case 'configured':
        this.#configure(worker, message.config)
        break
      case 'wantConnections':
        this.#options.connections.want(worker, message.wanted)
        break
      case 'confirmConnections':
        this.#options.connections.confirm(worker, message.version)
        break
      case 'peer':
        this.#leader.pass(worker, message.message, this.workers)
        break
    }
  }

  #greet(worker: WorkerProcess, version: string): void {
    this.#version ??= version
    if (version !== this.#version) {
      worker.refuse(
        `the executable has version ${version}, the other workers ${this.#version}: run \`basalt reload\``,
      )
    } else if (this.#setup === undefined) {
      worker.tell({ kind: 'configure' })
    } else {
      this.#startWorker(worker, this.#setup)
    }
  }

  #configure(worker: WorkerProcess, config: Config): void {
    try {
      this.#setup = this.#options.accept(config)
      this.#options.onSetUp()
      this.#startWorker(worker, this.#setup)
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      worker.refuse(error.message)
    }
  }

  #startWorker(worker: WorkerProcess, { config, total }: Setup): void {
    const { sockets, connections, count, onWait } = this.#options
    sockets.pass(worker)
    const waiting = setTimeout(() => onWait(worker, config), reportWaitMs)
    void worker.ended.then(() => clearTimeout(waiting))
    connections.add(worker, (max_conns) => {
      clearTimeout(waiting)
      worker.tell({
        kind: 'start',
        // A worker has its part of what belongs to the machine.
        config: {
          ...config,
          server: { ...config.server, workers: total },
          database: { ...config.database, max_conns },
        },
        worker: worker.number,
        total,
        count: count(),
        ports: sockets.ports,
        reusePort: canReusePort,
      })
    })
  }
}
