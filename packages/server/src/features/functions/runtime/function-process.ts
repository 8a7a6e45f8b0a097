import { AsyncLocalStorage } from 'node:async_hooks'
import { Socket } from 'node:net'
import { format } from 'node:util'
import { Bridges } from './child/bridges.ts'
import { type LoadedFunction, loadFunctions } from './child/load.ts'
import { runAfter } from './child/run-after.ts'
import { type CallTools, runCall } from './child/run-call.ts'
import { runHook } from './child/run-hook.ts'
import { runInbound, runVerify } from './child/run-inbound.ts'
import { runJob } from './child/run-job.ts'
import { runSingle } from './child/run-single.ts'
import { BodyStreams } from './child/streams.ts'
import type { ChildMessage, ResultMessage, ServerMessage } from './child/wire.ts'
import { FrameReader, FrameWriter } from './frames.ts'

// Program of the child process that runs functions. It knows nothing of the server but the socket that it inherits.

const socket = new Socket({ fd: 3, readable: true, writable: true })
const writer = new FrameWriter(socket)
/** Token of the call in whose code something happens. */
const current = new AsyncLocalStorage<string>()
const bridges = new Bridges(send)
const streams = new BodyStreams(send)
const signals = new Map<string, AbortController>()
let functions: ReadonlyMap<string, LoadedFunction> = new Map()
let secrets: Readonly<Record<string, string>> = {}

function send(message: ChildMessage): void {
  writer.write(message)
}

/** Sends the end of a call, which fails if the result is too long. @returns false for a failure in its place */
function sendResult(result: ResultMessage): boolean {
  try {
    send(result)
    return true
  } catch (error) {
    send({ type: 'failure', call: result.call, kind: 'failed', message: describe(error).slice(0, 1000) })
    return false
  }
}

function log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object): void {
  const call = current.getStore()
  send({ type: 'log', level, message, ...(call === undefined ? {} : { call }), ...(fields && { fields }) })
  // The next line of the code may be an endless loop.
  writer.flush()
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
    case 'call':
      await run(message, (found, tools) => runCall(found, message, tools))
      break
    case 'changes':
      await run(message, (found, tools) => runHook(found, message, tools))
      break
    case 'job':
      await run(message, (found, tools) => runJob(found, message, tools))
      break
    case 'after':
      await run(message, (found, tools) => runAfter(found, message, tools))
      break
    case 'verify':
      await run(message, (found, tools) => runVerify(found, message, tools))
      break
    case 'inbound':
      await run(message, (found, tools) => runInbound(found, message, tools))
      break
    case 'single':
      await run(message, (found, tools) => runSingle(found, message, tools))
      break
    case 'reply':
    case 'rows':
    case 'addresses':
      bridges.receive(message)
      break
    case 'grant':
      streams.grant(message.call, message.bytes)
      break
    case 'abort':
      abort(message.call)
      break
    case 'ping':
      send({ type: 'pong' })
      break
  }
}

/** Runs a call, and sends its end. */
async function run(
  { call, name }: { readonly call: string; readonly name: string },
  work: (found: LoadedFunction | undefined, tools: CallTools) => Promise<ResultMessage>,
): Promise<void> {
  const controller = new AbortController()
  signals.set(call, controller)
  const tools = { secrets, bridges, streams, signal: controller.signal, log }
  await current.run(call, async () => {
    const result = await work(functions.get(name), tools)
    const isSent = sendResult(result)
    // The body of a response follows, unless the server has ended the call.
    if (!isSent || result.type !== 'head' || controller.signal.aborted) abort(call)
  })
}

/** Ends what a call has left behind, such as a request without a reader. */
function abort(call: string): void {
  const reason = new Error('the call has ended')
  signals.get(call)?.abort(reason)
  signals.delete(call)
  streams.cancel(call, reason)
}

for (const level of ['debug', 'info', 'warn', 'error', 'log'] as const) {
  console[level] = (...values) => log(level === 'log' ? 'info' : level, format(...values))
}

process.on('exit', () => writer.flush())
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
