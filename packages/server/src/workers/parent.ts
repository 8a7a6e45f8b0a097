import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { connectionsOf } from '../config/workers.ts'
import type { Config } from '../configuration.ts'
import { openEmbedded } from '../database/open.ts'
import type { SocketName } from '../http/listen.ts'
import { untilAborted } from '../lib/abort.ts'
import { OperatorError } from '../lib/errors.ts'
import { divertLog, tapLog, writeLine } from '../lib/log-tap.ts'
import type { WorkerCount } from '../machine.ts'
import { embeddedPassword } from '../secrets.ts'
import type { StartReport } from '../start-report.ts'
import { aliveMs, type FromWorker, type ToWorker } from './messages.ts'
import { Restarts } from './restarts.ts'

/** Number of checks without a sign of life after which a worker is replaced. */
const silentLimit = 10
/** Number of those after which another worker accepts its connections. */
const lateLimit = 3
/** Time for a worker to return its metrics. */
const renderMs = 1000
/** Time for the last lines of a worker that has ended. */
const lastLinesMs = 200
/** Maximum number of characters of a worker's last output that are searched for the reason of its end. */
const tailLength = 4000

/** Systems that spread connections over the sockets of one port (Node, `server.listen`, reusePort). */
const canReusePort = ['linux', 'freebsd', 'dragonfly', 'sunos', 'aix'].includes(process.platform)

export interface WorkersOptions {
  readonly config: Config
  readonly total: number
  readonly log: Logger
  /** Path of the executable, which runs a worker by the command `worker`. */
  readonly executable: string
  readonly stderr: Pick<NodeJS.WriteStream, 'write'>
  readonly signal: AbortSignal
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
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Process of a worker. */
interface Worker {
  readonly number: number
  readonly process: ChildProcess
  readonly startedAt: number
  readonly listening: Promise<StartReport>
  readonly ended: Promise<void>
  state: 'starting' | 'serving' | 'stopping'
  /** Checks since the last message. */
  silentChecks: number
  isInspected: boolean
  /** Reason of its end, where it is known. */
  reason: string | undefined
  wasRefused: boolean
}

/** Handle of a socket, which is held but not used. */
interface Handle {
  close(): void
}

class Parent {
  readonly log: Logger
  readonly storedLog: Logger
  readonly #options: WorkersOptions
  readonly #workers = new Map<number, Worker>()
  readonly #restarts = new Map<number, Restarts>()
  readonly #replacements = new Set<NodeJS.Timeout>()
  /** Sockets by worker. They outlive their workers. */
  readonly #sockets = new Map<number, Map<SocketName, Handle>>()
  /** Workers that accept the connections of another one, by the other one's number. */
  readonly #covers = new Map<number, Worker>()
  readonly #ports = new Map<SocketName, number>()
  readonly #renderings = new Map<number, (text: string) => void>()
  readonly #check: NodeJS.Timeout
  #lastRendering = 0
  #lastCount = 0
  #hasStarted = false
  #stopping: Promise<void> | undefined

  constructor(options: WorkersOptions) {
    this.#options = options
    const store = (line: string) => this.#store(line)
    this.log = tapLog(options.log, store)
    this.storedLog = divertLog(options.log, store)
    this.#check = setInterval(() => this.#checkAll(), aliveMs)
  }

  /** Starts one worker, which prepares the database, and then the others. */
  async start(): Promise<StartReport> {
    const report = await this.#launch(1).listening
    const others = Array.from({ length: this.#options.total - 1 }, (_, index) => this.#launch(index + 2))
    await Promise.all(others.map(({ listening }) => listening))
    this.#hasStarted = true
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

  async #stop(): Promise<void> {
    for (const timeout of this.#replacements) clearTimeout(timeout)
    // Connections must be refused when the workers have closed theirs.
    for (const sockets of this.#sockets.values()) for (const handle of sockets.values()) handle.close()
    this.#sockets.clear()
    this.#tellAll({ kind: 'stop' })
    await Promise.all([...this.#workers.values()].map(({ ended }) => ended))
    clearInterval(this.#check)
  }

  #launch(number: number): Worker {
    const { config, total, executable } = this.#options
    const child = fork(executable, ['worker'], {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Workers cannot share the port of an inspector. SIGUSR1 opens that of a single worker.
      execArgv: process.execArgv.filter((argument) => !argument.startsWith('--inspect')),
    })
    const listening = Promise.withResolvers<StartReport>()
    // Only the start waits for it.
    listening.promise.catch(() => undefined)
    const ended = Promise.withResolvers<void>()
    const worker: Worker = {
      number,
      process: child,
      startedAt: performance.now(),
      listening: listening.promise,
      ended: ended.promise,
      state: 'starting',
      silentChecks: 0,
      isInspected: false,
      reason: undefined,
      wasRefused: false,
    }
    this.#workers.set(number, worker)
    this.#readOutput(worker)
    child.on('message', (message, handle) => {
      worker.silentChecks = 0
      this.#receive(worker, message as FromWorker, handle, listening.resolve)
    })
    // A message to a worker that has ended; its end is handled below.
    child.on('error', () => undefined)
    child.once('exit', (code, signal) => {
      void lastLines(child).then(() => {
        const reason = worker.reason ?? `it ended with ${signal ?? `code ${code}`}`
        listening.reject(
          new OperatorError(worker.wasRefused ? reason : `a worker could not start: ${reason}`),
        )
        this.#workers.delete(number)
        this.#handleChange()
        ended.resolve()
        this.#handleEnd(worker, code, signal)
      })
    })
    const own = this.#sockets.get(number) ?? (canReusePort ? undefined : this.#sockets.get(1))
    for (const [name, handle] of own ?? []) this.#tell(worker, { kind: 'socket', name }, handle)
    const { server, database } = config
    const maxConns = connectionsOf(number, { workers: total, maxConns: database.max_conns })
    this.#tell(worker, {
      kind: 'start',
      config: {
        ...config,
        server: { ...server, workers: total },
        database: { ...database, max_conns: maxConns },
      },
      worker: number,
      count: this.#count(),
      ports: this.#ports,
      reusePort: canReusePort,
    })
    return worker
  }

  #readOutput(worker: Worker): void {
    const { stdout, stderr } = worker.process
    let rest = ''
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) writeLine(this.#options.log, `${line}\n`)
    })
    let tail = ''
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#options.stderr.write(text)
      tail = `${tail}${text}`.slice(-tailLength)
      worker.reason = /^\w*Error\b.*$/m.exec(tail)?.[0] ?? worker.reason
    })
  }

  #receive(
    worker: Worker,
    message: FromWorker,
    handle: unknown,
    onListening: (report: StartReport) => void,
  ): void {
    switch (message.kind) {
      case 'alive':
        worker.isInspected = message.isInspected
        break
      case 'socket':
        this.#keep(worker, message, handle as Handle)
        break
      case 'listening':
        if (worker.state === 'starting') worker.state = 'serving'
        this.#handleChange()
        onListening(message.report)
        if (this.#hasStarted) this.log.info({ worker: worker.number }, 'the new worker serves')
        break
      case 'refused':
        worker.reason = message.message
        worker.wasRefused = true
        break
      case 'collect':
        void this.#collect(worker).then((texts) =>
          this.#tell(worker, { kind: 'collected', id: message.id, texts }),
        )
        break
      case 'rendered':
        this.#renderings.get(message.id)?.(message.text)
        break
    }
  }

  /** Keeps a socket, so that the port is never refused while workers are replaced. */
  #keep({ number }: Worker, { name, port }: { name: SocketName; port: number }, handle: Handle): void {
    if (this.#stopping !== undefined) {
      handle.close()
      return
    }
    this.#ports.set(name, port)
    const sockets = this.#sockets.get(number) ?? new Map<SocketName, Handle>()
    this.#sockets.set(number, sockets.set(name, handle))
  }

  #handleEnd(worker: Worker, code: number | null, signal: NodeJS.Signals | null): void {
    // The start reports its failure itself.
    if (this.#stopping !== undefined || !this.#hasStarted) return
    const { number, startedAt, reason, wasRefused } = worker
    const restarts = this.#restarts.get(number) ?? new Restarts()
    this.#restarts.set(number, restarts)
    const delayMs = restarts.next({
      livedMs: performance.now() - startedAt,
      isWaiting: (wasRefused && this.#count().serving > 0) || code === 0,
    })
    const how = { worker: number, pid: worker.process.pid, ...(signal === null ? { code } : { signal }) }
    const detail = reason === undefined ? how : { ...how, reason }
    if (delayMs === undefined) {
      this.log.error(detail, 'a worker has ended five times in a row')
      this.#options.onFailure(
        `worker ${number} has ended five times in a row: ${reason ?? `it ended with ${signal ?? `code ${code}`}`}`,
      )
      return
    }
    this.log.error(detail, `a worker has ended; starting another one in ${delayMs / 1000} s`)
    const timeout = setTimeout(() => {
      this.#replacements.delete(timeout)
      this.#launch(number)
    }, delayMs)
    this.#replacements.add(timeout)
  }

  /** Kills workers whose event loop is blocked. Checks are counted, as a suspended machine makes none. */
  #checkAll(): void {
    for (const worker of this.#workers.values()) {
      worker.silentChecks += 1
      if (worker.silentChecks < silentLimit || worker.isInspected) continue
      worker.reason = `its event loop was silent for ${silentLimit} s`
      worker.process.kill('SIGKILL')
    }
    this.#handleChange()
  }

  async #collect(asking: Worker): Promise<string[]> {
    const others = this.#serving().filter((worker) => worker !== asking)
    const texts = await Promise.all(others.map((worker) => this.#render(worker)))
    return texts.filter((text) => text !== undefined)
  }

  async #render(worker: Worker): Promise<string | undefined> {
    this.#lastRendering += 1
    const id = this.#lastRendering
    const rendered = new Promise<string>((resolve) => this.#renderings.set(id, resolve))
    this.#tell(worker, { kind: 'render', id })
    const text = await Promise.race([rendered, worker.ended, delay(renderMs, undefined, { ref: false })])
    this.#renderings.delete(id)
    return text ?? undefined
  }

  #store(line: string): void {
    const [worker] = this.#serving()
    if (worker !== undefined) this.#tell(worker, { kind: 'store', line })
  }

  #serving(): Worker[] {
    const workers = [...this.#workers.values()]
    return workers.filter(({ state, silentChecks }) => state === 'serving' && silentChecks < lateLimit)
  }

  #count(): WorkerCount {
    return { serving: this.#serving().length, total: this.#options.total }
  }

  /** Adapts to workers that have begun or ceased to serve. */
  #handleChange(): void {
    const count = this.#count()
    if (count.serving !== this.#lastCount) this.#tellAll({ kind: 'count', count })
    this.#lastCount = count.serving
    if (this.#hasStarted && this.#stopping === undefined && canReusePort) this.#coverSockets()
  }

  /** Passes the sockets of other workers to workers that serve. */
  #coverSockets(): void {
    const serving = this.#serving()
    for (const [number, sockets] of this.#sockets) {
      const current = this.#covers.get(number)
      const isServed = serving.some((worker) => worker.number === number)
      if (isServed ? current === undefined : current !== undefined && serving.includes(current)) continue
      const cover = isServed ? undefined : serving[0]
      if (current !== undefined) this.#tell(current, { kind: 'uncover', worker: number })
      this.#covers.delete(number)
      if (cover !== undefined) {
        this.#covers.set(number, cover)
        for (const [name, handle] of sockets)
          this.#tell(cover, { kind: 'cover', worker: number, name }, handle)
      }
    }
  }

  #tellAll(message: ToWorker): void {
    for (const worker of this.#workers.values()) this.#tell(worker, message)
  }

  #tell({ process: child }: Worker, message: ToWorker, handle?: Handle): void {
    if (!child.connected) return
    // Node passes raw handles on, which its types do not list.
    child.send(message, handle as unknown as undefined, undefined, () => undefined)
  }
}

/** Waits for the output of a process that has ended. A process that it has started may keep the output open. */
async function lastLines(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await Promise.race([closed, delay(lastLinesMs)])
}
