import { type ChildProcess, spawn } from 'node:child_process'
import { extname, join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { FrameReader, FrameWriter } from './frames.ts'
import { type FromChild, readMessage, type ToChild } from './messages.ts'
import { endWithParent } from './parent-watch.ts'
import { readablePaths } from './readable-paths.ts'

export interface ChildOptions {
  /** Path of the program that the child runs. */
  readonly program: string
  readonly folder: string
  readonly memoryMb: number
  readonly onMessage: (message: FromChild) => void
  /** Receives a line that code has printed, such as by `console.log`. */
  readonly onOutput: (line: string, isError: boolean) => void
  /** Called once, when the process has ended. */
  readonly onEnd: (reason: string) => void
}

/** Program of a child. The build puts it beside the other modules. */
export const functionProgram = join(import.meta.dirname, `function-process${extname(import.meta.filename)}`)

/** Maximum number of characters of a printed line. */
const lineLimit = 8000
/** Time for the last lines of a process that has ended. */
const lastLinesMs = 200
/** Number of the descriptor that the child inherits. */
const socketDescriptor = 3

/** Process that runs functions. It has no environment, and speaks by one inherited socket. */
export class FunctionChild {
  readonly #child: ChildProcess
  readonly #socket: Duplex
  readonly #writer: FrameWriter
  readonly #onEnd: ChildOptions['onEnd']
  readonly #listeners: (() => void)[] = []
  #reason: string | undefined
  #hasEnded = false
  #activeAt = performance.now()

  constructor({ program, folder, memoryMb, onMessage, onOutput, onEnd }: ChildOptions) {
    this.#onEnd = onEnd
    // In a clone, packages of the repository are read from their sources, as the server is.
    const conditions = program.endsWith('.ts') ? ['--conditions=@basaltdb/source'] : []
    this.#child = spawn(
      process.execPath,
      [
        ...conditions,
        // A second fence (Node.js, Permission Model): no writes, processes or workers, and reads only of code.
        '--permission',
        '--allow-addons',
        // The warning about addons has no meaning for a fence that is called no sandbox.
        '--disable-warning=SecurityWarning',
        ...readablePaths(folder, program).map((path) => `--allow-fs-read=${path}`),
        `--max-old-space-size=${memoryMb}`,
        '--enable-source-maps',
        program,
      ],
      { cwd: folder, env: { TZ: 'UTC' }, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
    )
    const stopWatch = endWithParent(this.#child)
    this.#child.on('exit', stopWatch)
    // Each stream of the options is a pipe, and that of the descriptor is a socket for both directions.
    this.#socket = this.#child.stdio[socketDescriptor] as Duplex
    this.#writer = new FrameWriter(this.#socket)
    const reader = new FrameReader((value) => onMessage(readMessage(value)))
    const notice = () => {
      this.#activeAt = performance.now()
    }
    this.#socket.on('drain', notice)
    this.#socket.on('data', (chunk: Buffer) => {
      notice()
      if (this.#reason !== undefined) return
      try {
        reader.push(chunk)
      } catch (error) {
        this.kill(`it has sent an invalid frame: ${error instanceof Error ? error.message : String(error)}`)
      }
    })
    // The end of the process follows, which is reported.
    this.#socket.on('error', () => undefined)
    readLines(this.#child.stdout, (line) => onOutput(line, false))
    readLines(this.#child.stderr, (line) => {
      if (/FATAL ERROR: .*heap/i.test(line))
        this.#reason ??= `it has used more than ${memoryMb} MiB of memory`
      onOutput(line, true)
    })
    this.#child.on('error', (error) => this.#end(error.message))
    this.#child.on('exit', (code, signal) => {
      const end = () => this.#end(`it has ended with ${signal ?? `code ${code}`}`)
      // The last lines of the output may have the reason.
      this.#child.once('close', end)
      setTimeout(end, lastLinesMs).unref()
    })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Time at which the process has last sent bytes, or read all that were sent. Both end while its event loop is blocked. */
  get activeAt(): number {
    return this.#activeAt
  }

  /** Sends a message. @throws RangeError if it is too long */
  send(message: ToChild): void {
    if (!this.#hasEnded && this.#socket.writable) this.#writer.write(message)
  }

  /** Calls the listener when the process has ended. */
  onceEnded(listener: () => void): void {
    if (this.#hasEnded) listener()
    else this.#listeners.push(listener)
  }

  /** Kills the process. @param reason that is reported as that of its end */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }

  #end(reason: string): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#socket.destroy()
    this.#onEnd(this.#reason ?? reason)
    for (const listener of this.#listeners) listener()
  }
}

/** Passes on the lines of a stream. A long one is cut. */
function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  let rest = ''
  let isCut = false
  stream?.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!isCut && line !== '') onLine(line.slice(0, lineLimit))
      isCut = false
    }
    if (rest.length <= lineLimit) return
    if (!isCut) onLine(rest.slice(0, lineLimit))
    isCut = true
    rest = ''
  })
}
