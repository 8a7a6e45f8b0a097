import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Headless browser, controlled over the DevTools protocol. */
export interface Browser extends AsyncDisposable {
  /** Opens the page and waits until it has loaded. */
  open(url: string): Promise<void>
  /** Returns the value of an expression in the page, promises awaited. @throws Error that the page throws */
  evaluate<Value>(expression: string): Promise<Value>
  /** Calls a method of the protocol for the page. */
  call<Result>(method: string, params?: object): Promise<Result>
  /** Waits for the next event of this name and returns its parameters. */
  once<Params>(event: string): Promise<Params>
}

/** Path of the whole browser, if it is installed. */
export const wholeChromium: string | undefined = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find(isExecutable)

/**
 * Path of Debian's headless build, which takes two thirds of the processor time. It has neither notifications nor a
 * push service. Its command is a script that would remain the parent process and be killed alone.
 */
const headlessShell = '/usr/lib/chromium/chromium-headless-shell'

/** Path of the cheapest browser that is installed. */
export const chromium: string | undefined = isExecutable(headlessShell) ? headlessShell : wholeChromium

const limitMs = 60_000

export async function startBrowser(program: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'basalt-browser-'))
  const process = spawn(
    program,
    [
      '--headless=new',
      // A container has no user namespaces for the sandbox, and all pages are our own.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = new Promise((resolve) => process.once('close', resolve))
  const dispose = async () => {
    process.kill('SIGKILL')
    await ended
    // Child processes of the browser may still be closing their files.
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  try {
    const { origin, host } = new URL((await readEndpoint(process)).replace(/^ws/, 'http'))
    const targets = (await (await fetch(`${origin}/json/list`)).json()) as { type: string; id: string }[]
    const page = targets.find(({ type }) => type === 'page')
    const protocol = await connect(`ws://${host}/devtools/page/${page?.id}`)
    await protocol.call('Page.enable')
    return {
      call: protocol.call,
      once: protocol.once,
      async open(url) {
        const loaded = protocol.once<object>('Page.loadEventFired')
        await protocol.call('Page.navigate', { url })
        await loaded
      },
      async evaluate<Value>(expression: string) {
        const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
        const { result, exceptionDetails } = await protocol.call<Evaluation<Value>>(
          'Runtime.evaluate',
          params,
        )
        if (exceptionDetails !== undefined) {
          throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
        }
        return result.value
      },
      async [Symbol.asyncDispose]() {
        protocol.close()
        await dispose()
      },
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

interface Evaluation<Value> {
  readonly result: { readonly value: Value }
  readonly exceptionDetails?: {
    readonly text: string
    readonly exception?: { readonly description?: string }
  }
}

/** Reads the address of the DevTools protocol, which the browser prints to standard error. */
function readEndpoint({ stderr }: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => reject(new Error(`the browser does not listen:\n${output}`)), limitMs)
    stderr?.on('data', (chunk) => {
      output += chunk
      const [, endpoint] = /DevTools listening on (ws:\S+)/.exec(output) ?? []
      if (endpoint === undefined) return
      clearTimeout(timer)
      resolve(endpoint)
    })
  })
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

async function connect(url: string) {
  const socket = new WebSocket(url)
  const waiting = new Map<number, (message: Message) => void>()
  const events = new Map<string, (params: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) waiting.get(message.id)?.(message)
    if (message.method !== undefined) events.get(message.method)?.(message.params)
  })
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error(`no connection to ${url}`)))
  })
  let count = 0
  return {
    call<Result>(method: string, params: object = {}): Promise<Result> {
      count += 1
      const id = count
      socket.send(JSON.stringify({ id, method, params }))
      return new Promise((resolve, reject) => {
        const call = `${method} ${JSON.stringify(params)}`
        const timer = setTimeout(() => reject(new Error(`${call}: no answer`)), limitMs)
        waiting.set(id, ({ result, error }) => {
          clearTimeout(timer)
          waiting.delete(id)
          if (error !== undefined) reject(new Error(`${method}: ${error.message}`))
          // The method's documentation has the shape.
          else resolve(result as Result)
        })
      })
    },
    once: <Params>(method: string) =>
      new Promise<Params>((resolve) => {
        // The event's documentation has the shape.
        events.set(method, (params) => resolve(params as Params))
      }),
    close: () => socket.close(),
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
