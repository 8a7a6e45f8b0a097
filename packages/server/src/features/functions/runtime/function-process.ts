import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import { format } from 'node:util'
import { Bridges } from './child/bridges.ts'
import { type LoadedFunction, loadFunctions } from './child/load.ts'
import { runCall } from './child/run-call.ts'
import type { ChildMessage, ResultMessage, ServerMessage } from './child/wire.ts'
import { encodeFrame, FrameReader } from './frames.ts'

// Program of the child process that runs functions. It knows nothing of the server but the socket that it inherits.

const socket = new Socket({ fd: 3, readable: true, writable: true })
/** Token of the call in whose code something happens. */
const current = new AsyncLocalStorage<string>()
const bridges = new Bridges(send)
const signals = new Map<string, AbortController>()
let functions: ReadonlyMap<string, LoadedFunction> = new Map()
let secrets: Readonly<Record<string, string>> = {}

function send(message: ChildMessage): void {
  socket.write(encodeFrame(message))
}

/** Sends the end of a call, which fails if the result is too long. */
function sendResult(result: ResultMessage): void {
  try {
    send(result)
  } catch (error) {
    send({ type: 'failure', call: result.call, kind: 'failed', message: describe(error).slice(0, 1000) })
  }
}

function log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object): void {
  const call = current.getStore()
  send({ type: 'log', level, message, ...(call === undefined ? {} : { call }), ...(fields && { fields }) })
}

async function receive(message: ServerMessage): Promise<void> {
  switch (message.type) {
    case 'load': {
      const { loaded, problems } = await loadFunctions(message.folder)
      functions = new Map(loaded.map((each) => [each.description.name, each]))
      if (problems.length > 0) send({ type: 'unloadable', problems })
      else send({ type: 'loaded', functions: loaded.map(({ description }) => description) })
      break
    }
    case 'secrets':
      secrets = message.values
      break
    case 'call': {
      const { call } = message
      const controller = new AbortController()
      signals.set(call, controller)
      const found = functions.get(message.name)
      await current.run(call, async () =>
        sendResult(await runCall(found, message, { secrets, bridges, signal: controller.signal, log })),
      )
      break
    }
    case 'reply':
    case 'rows':
      bridges.receive(message)
      break
    case 'abort':
      signals.get(message.call)?.abort(new Error('the call has ended'))
      signals.delete(message.call)
      break
    case 'ping':
      send({ type: 'pong' })
      break
  }
}

for (const level of ['debug', 'info', 'warn', 'error', 'log'] as const) {
  console[level] = (...values) => log(level === 'log' ? 'info' : level, format(...values))
}

process.on('unhandledRejection', (reason) => log('error', `unhandled rejection: ${describe(reason)}`))
process.on('uncaughtException', (error) => {
  log('error', `uncaught exception: ${describe(error)}`)
  // The state of the code is unknown from now on.
  process.exitCode = 1
  socket.end(() => process.exit())
})

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : format(thrown)
}

const reader = new FrameReader((message) => void receive(message as ServerMessage))
socket.on('data', (chunk: Buffer) => reader.push(chunk))
// Without the server there is nothing to do.
socket.on('close', () => process.exit())
socket.on('error', () => process.exit())
