import type { Identity } from '../../../http/access/identity.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { MessageSender } from '../../../job-queue.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import type { Caller, HookSet } from '../../data/collections/index.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import { administratorFor, type RecordAdminUse, userOf } from './as-admin.ts'
import { describeCaller } from './caller-description.ts'
import {
  type AdminWork,
  Call,
  type CallOutcome,
  type CallTerms,
  FunctionFailure,
  failureReply,
  type OpenData,
} from './calls.ts'
import { FunctionChild } from './child-process.ts'
import type { FunctionsConfig } from './config.ts'
import type { Enqueueing } from './enqueue.ts'
import { runtimeErrors } from './errors.ts'
import { findProblems } from './function-problems.ts'
import { createHookSet, createNestedHooks, type HookCall, type HookDeps } from './hooks.ts'
import type { SchemaChecks } from './input.ts'
import { LoadedFunctions } from './loaded-functions.ts'
import type { FunctionLog } from './log-limit.ts'
import {
  type AfterMessage,
  type BeforeDescription,
  type CallMessage,
  type EndMessage,
  type FailureMessage,
  type FetchStub,
  type FromChild,
  type FunctionDescription,
  type HeadMessage,
  type HookMessage,
  type HookOutcome,
  type InboundMessage,
  type JobMessage,
  type LogLine,
  readHookOutcomes,
  type SingleMessage,
  type TargetRequest,
  type VerifyMessage,
} from './messages.ts'
import { ResponseBody } from './response-body.ts'
import { attemptsOf, isOfSchedule } from './schedules.ts'
import type { CallStorage } from './storage.ts'
import { readHead, StreamedResponse } from './streamed-response.ts'
import type { CallWork, TransactionDeps } from './transaction.ts'

/** Maximum number of calls that run at once. */
const callLimit = 1000
/** Maximum number of responses that functions stream at once. They do not count as calls. */
const streamLimit = 1000
/** Maximum time for which the event loop of a child may be blocked while it runs calls. */
const longestBlockMs = 5000
/** Time in which a child must have loaded its functions. */
const loadTimeoutMs = 30_000
/** Maximum wait of a write for a connection of the functions. */
const longestWaitMs = 5000

/** Folder with functions, and its deploy. */
export interface Code {
  readonly folder: string
  /** Hash of the deploy; undefined for a folder of this machine. */
  readonly deploy: string | undefined
}

/** Error of files that cannot be loaded, however often. */
export class FaultyFiles extends Error {
  /** Each begins with the name of its file. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** End of the process of functions. The message has the reason. */
export class ProcessEnd extends Error {}

export interface GenerationDeps extends TransactionDeps {
  readonly openData: OpenData
  readonly config: Pick<FunctionsConfig, 'timeout' | 'memory_mb' | 'stream_idle_timeout'>
  /** Seconds for which a replaced process still streams responses. */
  readonly graceSeconds: number
  readonly secrets: FunctionSecrets
  /** Guard of the requests of functions. */
  readonly outbound: Pick<Outbound, 'addressesOf'>
  /** Returns the server that receives the requests of a call, or the reason why none does; undefined outside of tests. */
  readonly stubOf?: ((requestId: string) => FetchStub | string) | undefined
  readonly enqueueing: Enqueueing
  readonly storage: CallStorage
  readonly recordAdminUse: RecordAdminUse
  /** Returns true for a type of job that the server has. */
  readonly isReservedJob: (type: string) => boolean
  /** Path of the program of a child. */
  readonly program: string
}

export interface GenerationOptions {
  readonly deps: GenerationDeps
  readonly code: Code
  readonly log: FunctionLog
  readonly checks: SchemaChecks
  /** Returns the number of responses that all generations stream. */
  readonly countStreams: () => number
  /** Called each time a function has returned or failed. */
  readonly onCallEnd: () => void
  /** Called once, when the process has ended. */
  readonly onEnd: (reason: string) => void
}

/** Work of the child for a call. */
type Work =
  | Omit<CallMessage, 'call' | 'name'>
  | Omit<HookMessage, 'call' | 'name'>
  | Omit<JobMessage, 'call' | 'name'>
  | Omit<AfterMessage, 'call' | 'name'>
  | Omit<VerifyMessage, 'call' | 'name'>
  | Omit<InboundMessage, 'call' | 'name'>
  | Omit<SingleMessage, 'call' | 'name'>

/** Name and time limit of a function. */
export interface Limits {
  readonly name: string
  readonly seconds: number
}

/** Terms of a call that the transaction of its function completes. */
export interface OpenTerms
  extends Pick<
      CallTerms,
      'caller' | 'requestId' | 'onLog' | 'onStatement' | 'isUndone' | 'isTextAllowed' | 'respond'
    >,
    Partial<Pick<CallTerms, 'check'>> {
  readonly work: CallWork
  readonly sender: MessageSender
  readonly isAdmin?: boolean
  /** Address of the administrator who calls, for the audit log. */
  readonly administrator?: string | undefined
  /** Identity of the request, for the addresses that the function signs. */
  readonly identity?: Identity | undefined
  /** False if the function has no `ctx.storage`. */
  readonly hasStorage?: boolean
}

/** Signal and deadline that end a call early. */
interface RunOptions {
  readonly signal?: AbortSignal | undefined
  /** Moment of `performance.now` at which the call must have ended. */
  readonly deadline?: number | undefined
}

/** Child with the functions of one folder, its calls and its streams. */
export class Generation implements Code {
  readonly folder: string
  readonly deploy: string | undefined
  readonly startedAt = performance.now()
  readonly #options: GenerationOptions
  readonly #deps: GenerationDeps
  readonly #child: FunctionChild
  readonly #calls = new Map<string, Call>()
  /** Calls whose response is being streamed. */
  readonly #streams = new Map<string, { readonly call: Call; readonly body: ResponseBody }>()
  readonly #loaded = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<never>()
  #functions: LoadedFunctions | undefined
  /** Hooks for the writes of clients; undefined without any. */
  #hookSet: HookSet | undefined
  /** Number of writes and messages that need its code. */
  #holds = 0
  #hasEndedCall = false
  #isSuperseded = false
  #isReplaced = false
  /** Secrets that the child has. */
  #secrets: ReadonlyMap<string, string> = new Map()
  /** Time of the oldest ping without a pong. */
  #pingedAt: number | undefined
  #pings: NodeJS.Timeout | undefined

  constructor(options: GenerationOptions) {
    const { deps, code, log } = options
    const { folder, deploy } = code
    this.#options = options
    this.#deps = deps
    this.folder = folder
    this.deploy = deploy
    this.#child = new FunctionChild({
      program: deps.program,
      folder,
      memoryMb: deps.config.memory_mb,
      onMessage: (message) => this.#receive(message),
      onOutput: (line, isError) => log.write(isError ? 'warn' : 'info', line, { source: 'functions' }),
      onEnd: (reason) => this.#end(reason),
    })
    const timer = setTimeout(
      () => this.#child.kill(`it has not loaded its functions within ${loadTimeoutMs / 1000} s`),
      loadTimeoutMs,
    )
    this.#loaded.promise.catch(() => undefined).finally(() => clearTimeout(timer))
    this.#ended.promise.catch(() => undefined)
    this.#sendSecrets()
    this.#child.send({ type: 'load', folder })
  }

  /** Resolves once the functions are loaded. It rejects with FaultyFiles or ProcessEnd. */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  /** Rejects with ProcessEnd when the process ends. */
  get ended(): Promise<never> {
    return this.#ended.promise
  }

  get hasEnded(): boolean {
    return this.#child.hasEnded
  }

  /** Functions, once they are loaded. */
  get functions(): LoadedFunctions {
    if (this.#functions === undefined) throw new Error('the functions are not loaded')
    return this.#functions
  }

  get hookSet(): HookSet | undefined {
    return this.#hookSet
  }

  /** True once a function has returned or failed. */
  get hasEndedCall(): boolean {
    return this.#hasEndedCall
  }

  /** True once it ends with its last call. */
  get isReplaced(): boolean {
    return this.#isReplaced
  }

  /** True while it runs calls. */
  get hasCalls(): boolean {
    return this.#calls.size > 0
  }

  get streamCount(): number {
    return this.#streams.size
  }

  /** Limits the rest of the responses, because others serve the routes. Running calls continue. */
  supersede(): void {
    this.#isSuperseded = true
    for (const { body } of this.#streams.values()) this.#limitStream(body)
  }

  /** Ends the process, once nothing uses it. */
  retire(): void {
    this.#isReplaced = true
    this.#endUnused()
  }

  /** Ends the process at once. */
  discard(reason: string): void {
    this.#isReplaced = true
    this.#child.kill(reason)
  }

  /** Ends the process at once, and waits for its end. */
  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#child.onceEnded(resolve)
      this.#child.kill('the server stops')
    })
  }

  /** Keeps the process until the returned function is called. */
  hold(): () => void {
    this.#holds += 1
    return () => {
      this.#holds -= 1
      this.#endUnused()
    }
  }

  /** Returns the problem of the payload of a job, if its schema finds one. */
  findPayloadProblem(type: string, payload: object): string | undefined {
    const description = this.functions.jobs.get(type)
    if (description === undefined) return undefined
    try {
      this.#options.checks.readInput(description, payload)
    } catch (error) {
      if (error instanceof AppError) return error.message
      throw error
    }
    return undefined
  }

  /** Opens the call of a function, whose hooks, jobs and messages are those of its transaction. */
  open(
    description: Call['function'],
    { work, sender, isAdmin = false, administrator, identity, hasStorage = true, ...terms }: OpenTerms,
  ): Call {
    const onCommit = (listener: () => void) => work.onCommit(listener)
    // The hooks end with the call.
    const { isTextAllowed } = terms
    const outer = {
      ...{ statements: work.statements, onCommit, isTextAllowed },
      deadline: Number.POSITIVE_INFINITY,
    }
    const { recordAdminUse, secrets, storage, config } = this.#deps
    const openAdmin = (given: string): AdminWork => {
      const reason = secrets.redact(given)
      const use = { name: description.name, reason, caller: terms.caller, administrator }
      const caller = administratorFor(use)
      const record = once(() => recordAdminUse(use))
      const statements = work.statements.as(caller, record)
      const hooks = createNestedHooks(this.#hookDeps(), { ...outer, statements }, 0)
      return { caller, statements, hooks }
    }
    return new Call(description, {
      ...{ work, openData: this.#deps.openData, check: () => {}, ...terms },
      openAdmin: isAdmin ? openAdmin : undefined,
      storage: hasStorage
        ? (request, handle) =>
            storage.serve(request, {
              ...{ ...handle, work, function: description, timeout: config.timeout },
              identity: handle.caller === terms.caller ? identity : undefined,
            })
        : undefined,
      enqueue: this.#enqueue(sender.userId, description),
      send: this.#send(sender),
      hooks: createNestedHooks(this.#hookDeps(), outer, 0),
    })
  }

  /** Runs a call of a function that makes no response. @returns its result as JSON; undefined for none @throws AppError */
  async run(
    call: Call,
    message: Work,
    limits: Limits,
    options: RunOptions = {},
  ): Promise<string | undefined> {
    const outcome = await this.runCall(call, message, limits, options)
    if (outcome instanceof StreamedResponse) throw new Error('a function without a response has one')
    return outcome
  }

  /** Sends a call to the child, and returns its result. @throws AppError */
  async runCall(
    call: Call,
    message: Work,
    { name, seconds }: Limits,
    { signal, deadline = Number.POSITIVE_INFINITY }: RunOptions = {},
  ): Promise<CallOutcome> {
    if (this.#calls.size >= callLimit) throw runtimeErrors.tooManyCalls(callLimit).retryAfter(1)
    const abort = () => call.fail(runtimeErrors.callAborted())
    const timer = setTimeout(
      () => call.fail(runtimeErrors.functionTimeout(seconds)),
      Math.max(0, Math.min(seconds * 1000, deadline - performance.now())),
    )
    if (signal?.aborted === true) abort()
    signal?.addEventListener('abort', abort, { once: true })
    this.#calls.set(call.token, call)
    this.#watch()
    try {
      this.#sendSecrets()
      this.#sendCall({ ...message, call: call.token, name })
      return await call.outcome
    } catch (error) {
      // A disconnected caller or a stopping server is no fault of the function.
      if (signal?.aborted !== true) this.#noteError(call, message.type, error)
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      this.#calls.delete(call.token)
      // The call of a stream ends with its body.
      if (!call.hasReturned && !this.#streams.has(call.token))
        this.#child.send({ type: 'abort', call: call.token })
      this.#endUnused()
    }
  }

  /** @throws AppError too_many_streams; Error if the head cannot be sent */
  prepareStream(call: Call, message: HeadMessage, signal: AbortSignal): () => StreamedResponse {
    const head = readHead(message)
    if (!message.hasBody) return () => new StreamedResponse(head, undefined)
    if (this.#options.countStreams() >= streamLimit)
      throw runtimeErrors.tooManyStreams(streamLimit).retryAfter(1)
    return () => new StreamedResponse(head, this.#openStream(call, head.length, signal))
  }

  #openStream(call: Call, length: number | undefined, signal: AbortSignal): ResponseBody {
    const { token, requestId } = call
    // The client has disconnected, or its administrator is no longer admitted.
    const abort = () => void body.destroy()
    const body = new ResponseBody({
      idleMs: this.#deps.config.stream_idle_timeout * 1000,
      length,
      grant: (bytes) => this.#child.send({ type: 'grant', call: token, bytes }),
      onEnd: (error) => {
        signal.removeEventListener('abort', abort)
        this.#streams.delete(token)
        this.#child.send({ type: 'abort', call: token })
        if (error !== undefined) {
          const stack = error instanceof FunctionFailure ? error.stack : undefined
          const message = `the response was cut: ${messageOf(error)}`
          this.#options.log.fail(call.function.name, requestId, message, stack)
        }
        this.#endUnused()
      },
    })
    this.#streams.set(token, { call, body })
    if (this.#child.hasEnded) body.cut(runtimeErrors.functionProcessEnded())
    if (this.#isSuperseded) this.#limitStream(body)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    return body
  }

  #limitStream(body: ResponseBody): void {
    const reason = 'other functions have been loaded, and the time for the rest of the response is over'
    const timer = setTimeout(() => body.cut(new Error(reason)), this.#deps.graceSeconds * 1000).unref()
    body.once('close', () => clearTimeout(timer))
  }

  /** @throws AppError input_too_large */
  #sendCall(message: Parameters<FunctionChild['send']>[0]): void {
    try {
      this.#child.send(message)
    } catch (error) {
      if (error instanceof RangeError) throw runtimeErrors.inputTooLarge()
      throw error
    }
  }

  /**
   * Writes an error to the log, unless the caller of the function does. The error of a route or of an inbound function is
   * logged with its request.
   */
  #noteError({ function: { name }, requestId }: Call, type: string, error: unknown): void {
    if (!(error instanceof AppError)) return
    const { cause } = error.extras
    const isOfRequest = type === 'call' || type === 'verify' || type === 'inbound'
    if (
      isOfRequest
        ? error.status < 500 || cause instanceof FunctionFailure
        : (type === 'changes' || type === 'single') && error.status < 500
    )
      return
    // The stack of another error is in the code of the server.
    const { message, stack } = cause instanceof FunctionFailure ? cause : { message: error.message }
    this.#options.log.fail(name, requestId, message, stack)
  }

  /** Returns the function that adds jobs in a call. @param queuedBy id of the user on whose behalf */
  #enqueue(queuedBy: string | undefined, caller: Call['function']): CallTerms['enqueue'] {
    const findProblem = (type: string, payload: object) => this.findPayloadProblem(type, payload)
    return (request, work) => {
      const job = isOfSchedule(request.job) ? undefined : this.functions.jobs.get(request.job)
      // A job that adds itself again follows the deploys. Otherwise it would stay in its first one.
      const deploy = job === undefined || job.name === caller.name ? undefined : this.deploy
      const attempts = job && attemptsOf(job.retries)
      return this.#deps.enqueueing.add(request, work, { queuedBy, attempts, deploy }, findProblem)
    }
  }

  #send(sender: MessageSender): CallTerms['send'] {
    return (request, work) => this.#deps.enqueueing.send(request, work, sender)
  }

  #hookDeps(): HookDeps {
    const { database, slots, config } = this.#deps
    return {
      ...{ database, slots },
      table: this.functions.hooks,
      limitMs: config.timeout * 1000,
      waitMs: Math.min(config.timeout * 500, longestWaitMs),
      call: (hook, terms) => this.#callHook(hook, terms),
      hold: () => this.hold(),
    }
  }

  async #callHook(
    hook: BeforeDescription,
    { caller, work, hooks, changes, isCollecting, deadline, isTextAllowed }: HookCall,
  ): Promise<readonly HookOutcome[]> {
    if (this.#child.hasEnded) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const requestId = caller.origin?.().requestId ?? ''
    const { openData } = this.#deps
    const enqueue = this.#enqueue(userOf(caller), hook)
    const send = this.#send(senderOf(caller))
    const call = new Call(hook, {
      ...{ caller, requestId, work, hooks, openData, enqueue, send, isTextAllowed },
      check: () => {},
    })
    const message = {
      ...describeCaller(caller),
      type: 'changes' as const,
      request: { id: requestId },
      changes,
      isCollecting,
    }
    const json = await this.run(call, message, limitsOf(this.#deps.config, hook), {
      signal: caller.signal?.(),
      deadline,
    })
    try {
      return readHookOutcomes(json, changes.length, isCollecting).map(({ values, refusal }) => ({
        ...(values === undefined ? {} : { values }),
        ...(refusal === undefined ? {} : { refusal: this.#redact(refusal) }),
      }))
    } catch (cause) {
      throw runtimeErrors.functionFailed().with({ cause })
    }
  }

  #receive(message: FromChild): void {
    switch (message.type) {
      case 'loaded': {
        if (this.#functions !== undefined) throw new Error('functions are loaded once')
        const problems = findProblems(message.functions, this.#deps.isReservedJob)
        if (problems.length > 0) {
          this.#loaded.reject(new FaultyFiles(problems))
          break
        }
        this.#functions = new LoadedFunctions(message.functions)
        if (!this.functions.hooks.isEmpty) this.#hookSet = createHookSet(this.#hookDeps())
        this.#loaded.resolve()
        break
      }
      case 'unloadable':
        this.#loaded.reject(new FaultyFiles(message.problems))
        break
      case 'pong':
        this.#pingedAt = undefined
        break
      case 'log':
        this.#writeLine(message)
        break
      case 'target': {
        const call = this.#findCall(message.call)
        if (call === undefined) this.#child.send(failureReply(message.id, runtimeErrors.transactionEnded()))
        else void this.#replyTarget(call, message)
        break
      }
      case 'request':
      case 'sql':
      case 'enqueue':
      case 'storage':
      case 'send': {
        const call = this.#calls.get(message.call)
        if (call === undefined) this.#child.send(failureReply(message.id, runtimeErrors.transactionEnded()))
        else void this.#reply(call, message)
        break
      }
      case 'result':
        this.#noteCallEnd()
        void this.#calls.get(message.call)?.succeed(message)
        break
      case 'head':
        void this.#calls.get(message.call)?.respond(message)
        break
      case 'chunk':
        this.#streams.get(message.call)?.body.receive(Buffer.from(message.bytes, 'base64'))
        break
      case 'end':
        this.#endStream(message)
        break
      case 'failure':
        this.#noteCallEnd()
        void this.#calls.get(message.call)?.refuse(this.#redact(message))
        break
    }
  }

  #writeLine({ level, message, fields, call: token }: LogLine): void {
    const call = token === undefined ? undefined : this.#findCall(token)
    call?.onLog?.(`${level}: ${message}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`)
    const names = call && { requestId: call.requestId, function: call.function.name }
    this.#options.log.write(level, message, { ...fields, source: 'functions', ...names })
  }

  /** Finds a call that has not ended, or whose response is being streamed. */
  #findCall(token: string): Call | undefined {
    return this.#calls.get(token) ?? this.#streams.get(token)?.call
  }

  #noteCallEnd(): void {
    this.#hasEndedCall = true
    this.#options.onCallEnd()
  }

  async #reply(call: Call, message: Parameters<Call['handle']>[0]): Promise<void> {
    const reply = await call.handle(message)
    try {
      this.#child.send(reply)
    } catch (error) {
      // Only the length of a message can prevent it.
      this.#child.send(failureReply(message.id, runtimeErrors.statementNotAllowed(messageOf(error))))
    }
  }

  /** Sends the addresses to which `ctx.fetch` may connect. */
  async #replyTarget(
    { isOpen, requestId, function: { name } }: Call,
    { id, host }: TargetRequest,
  ): Promise<void> {
    if (isOpen)
      this.#options.log.write(
        'warn',
        'ctx.fetch holds a transaction open until the response: call it before ctx.db',
        {
          ...{ host, source: 'functions', requestId, function: name },
        },
      )
    const stub = this.#deps.stubOf?.(requestId)
    if (stub !== undefined) {
      const reply = typeof stub === 'string' ? { error: stub } : { stub }
      this.#child.send({ type: 'addresses', id, addresses: [], ...reply })
      return
    }
    const reply = await this.#deps.outbound.addressesOf(host).then(
      (addresses) => ({ addresses }),
      (error) => ({ addresses: [], error: messageOf(error) }),
    )
    this.#child.send({ type: 'addresses', id, ...reply })
  }

  /** Ends the body of a response, or cuts it after an error of the function. */
  #endStream({ call: token, failure }: EndMessage): void {
    const { call, body } = this.#streams.get(token) ?? {}
    if (call === undefined || body === undefined) return
    if (failure === undefined) body.finish()
    else body.cut(new FunctionFailure(failure.message, failure.stack, call.function.name))
  }

  /** Removes secrets from the error of a function, which is sent to clients and to the log. */
  #redact<Failure extends Pick<FailureMessage, 'message' | 'stack' | 'data'>>(failure: Failure): Failure {
    const { secrets } = this.#deps
    const { message, stack, data } = failure
    return {
      ...failure,
      message: secrets.redact(message),
      // A secret is at least eight characters long, so none is a part of the syntax.
      ...(data === undefined ? {} : { data: JSON.parse(secrets.redact(JSON.stringify(data))) }),
      ...(stack === undefined ? {} : { stack: secrets.redact(stack) }),
    }
  }

  /** Sends the secrets, if they have changed since the child got them. */
  #sendSecrets(): void {
    const secrets = this.#deps.secrets.all()
    if (this.#secrets === secrets) return
    this.#secrets = secrets
    this.#child.send({ type: 'secrets', values: Object.fromEntries(secrets) })
  }

  /** Pings the child while it runs calls, and kills it if its event loop is blocked. */
  #watch(): void {
    if (this.hasEnded) return
    const blockMs = Math.min(this.#deps.config.timeout * 1000, longestBlockMs)
    this.#pings ??= setInterval(() => {
      const now = performance.now()
      const isUsed = this.#calls.size + this.#streams.size > 0
      // Before its pong, a process may have to transfer many bytes.
      if (this.#pingedAt !== undefined && now - Math.max(this.#pingedAt, this.#child.activeAt) >= blockMs) {
        this.#child.kill(`its event loop was blocked for ${Math.round(blockMs / 1000)} s`)
      } else if (this.#pingedAt === undefined && isUsed) {
        this.#pingedAt = now
        this.#child.send({ type: 'ping' })
      }
      if (isUsed || this.#pingedAt !== undefined) return
      clearInterval(this.#pings)
      this.#pings = undefined
    }, blockMs / 4)
  }

  /** Ends the process, if it is replaced and nothing uses it. */
  #endUnused(): void {
    if (this.#isReplaced && this.#calls.size + this.#streams.size === 0 && this.#holds === 0)
      this.#child.kill('it was replaced')
  }

  /** Ends the calls and the streams of the process that has ended. */
  #end(reason: string): void {
    clearInterval(this.#pings)
    const error = new ProcessEnd(reason)
    this.#loaded.reject(error)
    this.#ended.reject(error)
    for (const call of [...this.#calls.values()]) {
      call.fail(runtimeErrors.functionProcessEnded().retryAfter(1).with({ detail: reason }))
    }
    for (const { body } of [...this.#streams.values()])
      body.cut(new Error(`the process of the functions ended: ${reason}`))
    this.#options.onEnd(reason)
  }
}

/** Returns the name and the time limit of a function in seconds. */
export function limitsOf(
  { timeout }: GenerationDeps['config'],
  { name, timeout: own }: Pick<FunctionDescription, 'name' | 'timeout'>,
): Limits {
  return { name, seconds: Math.min(own ?? timeout, timeout) }
}

/** Returns the sender of messages. Requests without a token share a limit, and administrators have none. */
export function senderOf(caller: Caller): MessageSender {
  const userId = userOf(caller)
  return { userId, limitKey: userId ?? (caller.scope.kind === 'anonymous' ? 'anonymous' : undefined) }
}

/** Returns the work with one success. A failure is repeated by the next call. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error) => {
      done = undefined
      throw error
    })
    return done
  }
}
