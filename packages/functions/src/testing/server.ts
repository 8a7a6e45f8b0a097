import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { BasaltError } from '@basaltdb/client'

/** Line that a function has logged. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

interface Reply {
  readonly id: number
  readonly value?: unknown
  readonly failure?: {
    readonly status: number
    readonly error: string
    readonly message: string
    readonly stack?: string
    readonly data?: Readonly<Record<string, unknown>>
  }
  readonly logs: readonly LogLine[]
}

/** Process with the server of the project, on a database of its own. It ends with the process of the test. */
export class TestServer {
  readonly #child: ChildProcess
  readonly #input: Socket
  readonly #output: Socket
  readonly #pending = new Map<number, PromiseWithResolvers<Reply>>()
  readonly #ended: Promise<void>
  #nextId = 0
  #hasEnded = false

  /** @throws Error if the project has no server */
  constructor(project: string) {
    const executable = findExecutable(project)
    // biome-ignore lint/style/noProcessEnv: the server has the configuration of the test's environment
    const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env
    this.#child = spawn(process.execPath, [executable, 'function-tests'], {
      cwd: project,
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    // The streams of a child are sockets (Node.js, subprocess.stdio).
    this.#input = this.#child.stdin as unknown as Socket
    this.#output = this.#child.stdout as unknown as Socket
    this.#input.on('error', () => undefined)
    createInterface({ input: this.#output }).on('line', (line) => this.#receive(JSON.parse(line) as Reply))
    this.#ended = new Promise((resolve) => {
      const end = (reason: string) => {
        this.#hasEnded = true
        for (const { reject } of this.#pending.values()) reject(new Error(reason))
        this.#pending.clear()
        resolve()
      }
      this.#child.on('error', (error) => end(`the server of the test cannot be started: ${error.message}`))
      this.#child.on('close', (code, signal) =>
        end(`the server of the test has ended with ${signal ?? code}`),
      )
    })
    this.#hold(false)
  }

  /** Sends a request, and returns its value with the lines that were logged. @throws BasaltError */
  async send(request: object): Promise<{ readonly value: unknown; readonly logs: readonly LogLine[] }> {
    if (this.#hasEnded) throw new Error('the database of the test is closed')
    const id = this.#nextId
    this.#nextId += 1
    const waiting = Promise.withResolvers<Reply>()
    this.#pending.set(id, waiting)
    this.#hold(true)
    try {
      this.#input.write(`${JSON.stringify({ id, ...request })}\n`)
      const { value, failure, logs } = await waiting.promise
      if (failure !== undefined) throw errorOf(failure, logs)
      return { value, logs }
    } finally {
      this.#pending.delete(id)
      if (this.#pending.size === 0) this.#hold(false)
    }
  }

  /** Ends the server, which drops its database. */
  async close(): Promise<void> {
    this.#hold(true)
    this.#input.end()
    await this.#ended
  }

  #receive(reply: Reply): void {
    this.#pending.get(reply.id)?.resolve(reply)
  }

  /** Keeps the process of the test running while it waits, and no longer. */
  #hold(isWaiting: boolean): void {
    for (const handle of [this.#child, this.#output]) isWaiting ? handle.ref() : handle.unref()
    this.#input.unref()
  }
}

/** Returns the executable of the server that the project has installed. @throws Error */
function findExecutable(project: string): string {
  if (!existsSync(project)) throw new Error(`there is no folder ${project}`)
  let manifest: string
  try {
    manifest = createRequire(join(project, 'package.json')).resolve('basaltdb/package.json')
  } catch (cause) {
    const advice =
      'install it (npm install --save-dev basaltdb), or name the folder of the project: testDatabase({ project })'
    throw new Error(`${project} has no package basaltdb, whose server runs the functions: ${advice}`, {
      cause,
    })
  }
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: { readonly basalt: string } }
  return join(dirname(manifest), bin.basalt)
}

/** Returns the error of a call, with the stack of the function and its log. */
function errorOf(
  { message, stack, ...detail }: NonNullable<Reply['failure']>,
  logs: readonly LogLine[],
): BasaltError {
  const error = new BasaltError(message, detail)
  if (stack !== undefined) error.stack = stack
  return logs.length === 0 ? error : Object.assign(error, { logs })
}
