import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { writeLine } from '../lib/log-tap.ts'
import type { StartReport } from '../start-report.ts'
import { type FromWorker, protocol, type ToWorker } from './messages.ts'

/** Number of checks without a sign of life after which a worker is replaced. */
const silentLimit = 10
/** Number of those before it serves. On a loaded machine the modules of a worker take longer than 10 s to load. */
const startLimit = 60
/** Number of those after which another worker accepts its connections. */
const lateLimit = 3
/** Time for the last lines of a worker that has ended. */
const lastLinesMs = 200
/** Maximum number of characters of a worker's last output that are searched for the reason of its end. */
const tailLength = 4000

/** Handle of a socket, which is held but not used. */
export interface Handle {
  close(): void
}

/** Parts of the parent that its workers' processes use. */
export interface ProcessHost {
  /** Path of the executable, which runs a worker by the command `worker`. */
  readonly executable: string
  /** Flags of the configuration, which the worker may have to read. */
  readonly flags: readonly string[]
  /** Log that receives the lines of the workers. */
  readonly log: Logger
  readonly stderr: Pick<NodeJS.WriteStream, 'write'>
  readonly onMessage: (worker: WorkerProcess, message: FromWorker, handle: unknown) => void
  /** Called when a worker has ended and its last lines are written. */
  readonly onEnd: (worker: WorkerProcess) => void
}

/** Process of a worker: its start, output, messages and end. */
export class WorkerProcess {
  /** Number from 1, which a replacement inherits. */
  readonly number: number
  readonly startedAt = performance.now()
  /** Report of the worker once it listens. */
  readonly listening: Promise<StartReport>
  readonly ended: Promise<void>
  /** Reason of its end, where it is known. */
  reason: string | undefined
  wasRefused = false
  exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined
  #hasGreeted = false
  #hasListened = false
  /** Checks since the last message. */
  #silentChecks = 0
  #isInspected = false
  readonly #child: ChildProcess
  readonly #listening = Promise.withResolvers<StartReport>()

  constructor(number: number, host: ProcessHost) {
    this.number = number
    this.#child = fork(host.executable, ['worker', ...host.flags], {
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Workers cannot share the port of an inspector. SIGUSR1 opens that of a single worker.
      execArgv: process.execArgv.filter((argument) => !argument.startsWith('--inspect')),
    })
    this.listening = this.#listening.promise
    const ended = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.#readOutput(host)
    this.#child.on('message', (message, handle) => {
      this.#silentChecks = 0
      if (!this.#receive(message as FromWorker)) return
      host.onMessage(this, message as FromWorker, handle)
    })
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      this.exit = { code, signal }
      host.onEnd(this)
      ended.resolve()
    }
    this.#child.on('error', (error) => {
      // Any other error is a message to a worker that has ended. A process that could not be started has no end.
      if (this.#child.pid !== undefined) return
      this.reason = messageOf(error)
      end(null, null)
    })
    this.#child.once('exit', (code, signal) => void lastLines(this.#child).then(() => end(code, signal)))
  }

  get hasListened(): boolean {
    return this.#hasListened
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** True if the worker serves requests and its event loop responds. */
  get isServing(): boolean {
    return this.#hasListened && this.exit === undefined && this.#silentChecks < lateLimit
  }

  describeEnd(): string {
    return this.reason ?? `it ended with ${this.exit?.signal ?? `code ${this.exit?.code}`}`
  }

  /** Returns the error of a start that the end of this worker has failed. */
  get failure(): OperatorError {
    const reason = this.describeEnd()
    return new OperatorError(this.wasRefused ? reason : `a worker could not start: ${reason}`)
  }

  /** Ends a worker that does not suit this machine. */
  refuse(reason: string): void {
    this.reason = reason
    this.wasRefused = true
    this.kill()
  }

  tell(message: ToWorker, handle?: Handle): void {
    if (!this.#child.connected) return
    // Node passes raw handles on, which its types do not list.
    this.#child.send(message, handle as unknown as undefined, undefined, () => undefined)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Kills a worker whose event loop is blocked. Checks are counted, as a suspended machine makes none. */
  check(): void {
    this.#silentChecks += 1
    const limit = this.#hasListened ? silentLimit : startLimit
    if (this.#silentChecks < limit || this.#isInspected) return
    this.reason = `its event loop was silent for ${limit} s`
    this.kill()
  }

  /** Receives a message. @returns false if the worker has another protocol, and is refused */
  #receive(message: FromWorker): boolean {
    if (!this.#hasGreeted && (message.kind !== 'hello' || message.protocol !== protocol)) {
      const version = message.kind === 'hello' ? `version ${message.version}` : 'the executable'
      this.refuse(`restart needed: ${version} has another protocol between parent and workers`)
      return false
    }
    this.#hasGreeted = true
    switch (message.kind) {
      case 'alive':
        this.#isInspected = message.isInspected
        break
      case 'listening':
        this.#hasListened = true
        this.#listening.resolve(message.report)
        break
      case 'refused':
        this.reason = message.message
        this.wasRefused = true
        break
    }
    return true
  }

  #readOutput({ log, stderr }: ProcessHost): void {
    let rest = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) writeLine(log, `${line}\n`)
    })
    let tail = ''
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr.write(text)
      tail = `${tail}${text}`.slice(-tailLength)
      if (!this.wasRefused) this.reason = /^\w*Error\b.*$/m.exec(tail)?.[0] ?? this.reason
    })
  }
}

/** Waits for the output of a process that has ended. A process that it has started may keep the output open. */
async function lastLines(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await Promise.race([closed, delay(lastLinesMs)])
}
