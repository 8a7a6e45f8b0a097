import type { Logger } from 'pino'
import { messageOf } from '../../../lib/errors.ts'
import type { Caller } from '../../data/collections/index.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import { Call, type CallDeps, failureReply } from './calls.ts'
import { FunctionChild } from './child-process.ts'
import type { FunctionsConfig } from './config.ts'
import { runtimeErrors } from './errors.ts'
import { SchemaChecks } from './input.ts'
import { FunctionLog } from './log-limit.ts'
import type { CallMessage, FailureMessage, FromChild, FunctionDescription } from './messages.ts'
import { findConflicts, type RouteMatch, RouteTable } from './route-table.ts'

/** Maximum number of calls in flight. */
const callLimit = 1000
/** Maximum time for which the event loop of a child may be blocked while calls are in flight. */
const longestBlockMs = 5000
/** Time in which a child must have loaded its functions. */
const loadTimeoutMs = 30_000
/** Time after which a child counts as steady, and the next delay is short again. */
const steadyMs = 30_000
const firstDelayMs = 100
const longestDelayMs = 5000

export interface HostDeps extends CallDeps {
  readonly config: Pick<FunctionsConfig, 'timeout' | 'memory_mb'>
  readonly log: Logger
  readonly secrets: FunctionSecrets
  /** Path of the program of a child. */
  readonly program: string
}

/** Child with the functions of one folder, and its calls. */
interface Generation {
  readonly folder: string
  readonly child: FunctionChild
  readonly startedAt: number
  readonly calls: Map<string, Call>
  readonly loaded: PromiseWithResolvers<void>
  routes: RouteTable
  isLoaded: boolean
  /** True once another generation serves new calls. */
  isReplaced: boolean
  /** Secrets that the child has. */
  secrets: ReadonlyMap<string, string>
  /** Time of the oldest ping without a pong. */
  pingedAt: number | undefined
}

/** Functions of this server: the child that runs them, its replacement after a crash, and the calls. */
export class FunctionHost {
  readonly #deps: HostDeps
  readonly #log: FunctionLog
  readonly #checks = new SchemaChecks()
  readonly #generations = new Set<Generation>()
  #current: Generation | undefined
  #folder: string | undefined
  /** Number of ends in a row. */
  #ends = 0
  #restart: NodeJS.Timeout | undefined
  #pings: NodeJS.Timeout | undefined
  #isStopped = false
  /** Number of loads so far, and number of the latest success. */
  #begun = 0
  #latest = 0
  /** Functions that were served last, also while their process restarts. */
  #known: RouteTable | undefined

  constructor(deps: HostDeps) {
    this.#deps = deps
    this.#log = new FunctionLog(deps.log, deps.secrets)
  }

  /** True if a folder with functions is to be served. */
  get isUsed(): boolean {
    return this.#folder !== undefined
  }

  /** Returns the function that serves a request. @throws AppError no_such_function, functions_unavailable */
  find(method: string, path: string): RouteMatch {
    if (!this.isUsed) throw runtimeErrors.noSuchFunction(method, path)
    if (this.#current === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const found = this.#current.routes.find(method, path)
    if (found === undefined) throw runtimeErrors.noSuchFunction(method, path)
    return found
  }

  /** Returns true if a function for requests without a token serves the path. */
  admitsAnonymous(method: string, path: string): boolean {
    return this.#known?.find(method, path)?.function.access === 'anonymous'
  }

  /**
   * Serves the functions of a folder from now on. Calls in flight end in the child that runs them.
   *
   * @throws Error if they cannot be loaded; the previous ones are still served
   */
  async loadFolder(folder: string): Promise<void> {
    this.#begun += 1
    const number = this.#begun
    const generation = this.#start(folder)
    try {
      await generation.loaded.promise
    } catch (error) {
      generation.isReplaced = true
      generation.child.kill('its functions could not be loaded')
      throw error
    }
    if (number < this.#latest) {
      // A load that began later has succeeded before: this one is of an older deploy, or of its restart.
      generation.isReplaced = true
      generation.child.kill('newer functions have been loaded')
      return
    }
    this.#latest = number
    this.#folder = folder
    this.#known = generation.routes
    clearTimeout(this.#restart)
    const previous = this.#current
    this.#current = generation
    if (previous !== undefined) this.#retire(previous)
  }

  /** Serves no functions any more. */
  unload(): void {
    // A load in flight no longer counts.
    this.#begun += 1
    this.#latest = this.#begun
    this.#folder = undefined
    this.#known = undefined
    clearTimeout(this.#restart)
    if (this.#current !== undefined) this.#retire(this.#current)
    this.#current = undefined
  }

  /**
   * Calls a function and returns its result as JSON; undefined for none.
   *
   * @param isAbandoned signal that aborts when the client disconnects
   * @throws AppError
   */
  async call(
    description: FunctionDescription,
    caller: Caller,
    message: Omit<CallMessage, 'type' | 'call' | 'name'>,
    { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    const generation = this.#current
    if (generation === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    if (generation.calls.size >= callLimit) throw runtimeErrors.tooManyCalls(callLimit).retryAfter(1)
    const input = this.#checks.readInput(description, message.input)
    const call = new Call(this.#deps, description, caller, requestId, (value) =>
      this.#checks.checkOutput(description, value),
    )
    const { timeout } = this.#deps.config
    const seconds = Math.min(description.timeout ?? timeout, timeout)
    const timer = setTimeout(() => call.fail(runtimeErrors.functionTimeout(seconds)), seconds * 1000)
    const leave = () => call.fail(runtimeErrors.functionTimeout(seconds))
    signal.addEventListener('abort', leave, { once: true })
    generation.calls.set(call.token, call)
    this.#watch()
    try {
      this.#sendSecrets(generation)
      generation.child.send({ ...message, input, type: 'call', call: call.token, name: description.name })
      return await call.outcome
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      generation.calls.delete(call.token)
      generation.child.send({ type: 'abort', call: call.token })
      if (generation.isReplaced && generation.calls.size === 0) generation.child.kill('it was replaced')
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#restart)
    clearInterval(this.#pings)
    const ended = [...this.#generations].map(
      (generation) =>
        new Promise<void>((resolve) => {
          generation.child.onceEnded(resolve)
          generation.child.kill('the server stops')
        }),
    )
    await Promise.all(ended)
    this.#log.flush()
  }

  #start(folder: string): Generation {
    const { program, config } = this.#deps
    const generation: Generation = {
      folder,
      startedAt: performance.now(),
      calls: new Map(),
      loaded: Promise.withResolvers<void>(),
      routes: new RouteTable([]),
      isLoaded: false,
      isReplaced: false,
      pingedAt: undefined,
      secrets: new Map(),
      child: new FunctionChild({
        program,
        folder,
        memoryMb: config.memory_mb,
        onMessage: (message) => this.#receive(generation, message),
        onOutput: (line, isError) =>
          this.#log.write(isError ? 'warn' : 'info', line, { source: 'functions' }),
        onEnd: (reason) => this.#ended(generation, reason),
      }),
    }
    this.#generations.add(generation)
    const timer = setTimeout(
      () => generation.child.kill(`it has not loaded its functions within ${loadTimeoutMs / 1000} s`),
      loadTimeoutMs,
    )
    generation.loaded.promise.catch(() => undefined).finally(() => clearTimeout(timer))
    this.#sendSecrets(generation)
    generation.child.send({ type: 'load', folder })
    return generation
  }

  /** Sends the secrets, if they have changed since the child got them. */
  #sendSecrets(generation: Generation): void {
    const secrets = this.#deps.secrets.all()
    if (generation.secrets === secrets) return
    generation.secrets = secrets
    generation.child.send({ type: 'secrets', values: Object.fromEntries(secrets) })
  }

  #retire(generation: Generation): void {
    generation.isReplaced = true
    if (generation.calls.size === 0) generation.child.kill('it was replaced')
  }

  #receive(generation: Generation, message: FromChild): void {
    switch (message.type) {
      case 'loaded': {
        if (generation.isLoaded) throw new Error('functions are loaded once')
        const conflicts = findConflicts(message.functions)
        if (conflicts.length > 0) {
          generation.loaded.reject(new Error(conflicts.join('\n')))
          break
        }
        generation.isLoaded = true
        generation.routes = new RouteTable(message.functions)
        generation.loaded.resolve()
        break
      }
      case 'unloadable':
        generation.loaded.reject(new Error(message.problems.join('\n')))
        break
      case 'pong':
        generation.pingedAt = undefined
        break
      case 'log': {
        const call = message.call === undefined ? undefined : generation.calls.get(message.call)
        const names = call && { requestId: call.requestId, function: call.function.name }
        this.#log.write(message.level, message.message, { ...message.fields, source: 'functions', ...names })
        break
      }
      case 'request':
      case 'sql': {
        const call = generation.calls.get(message.call)
        if (call === undefined)
          generation.child.send(failureReply(message.id, runtimeErrors.transactionEnded()))
        else void this.#reply(generation, call, message)
        break
      }
      case 'result':
        void generation.calls.get(message.call)?.succeed(message)
        break
      case 'failure':
        generation.calls.get(message.call)?.refuse(this.#redact(message))
        break
    }
  }

  /** Removes secrets from the error of a function, which is sent to clients and to the log. */
  #redact({ message, stack, data, ...failure }: FailureMessage): FailureMessage {
    const { secrets } = this.#deps
    const redacted = {
      ...failure,
      message: secrets.redact(message),
      // A secret is at least eight characters long, so none is a part of the syntax.
      ...(data === undefined ? {} : { data: JSON.parse(secrets.redact(JSON.stringify(data))) }),
    }
    return stack === undefined ? redacted : { ...redacted, stack: secrets.redact(stack) }
  }

  async #reply(generation: Generation, call: Call, message: Parameters<Call['handle']>[0]): Promise<void> {
    const reply = await call.handle(message)
    try {
      generation.child.send(reply)
    } catch (error) {
      // Only the length of a message can prevent it.
      generation.child.send(failureReply(message.id, runtimeErrors.statementNotAllowed(messageOf(error))))
    }
  }

  #ended(generation: Generation, reason: string): void {
    this.#generations.delete(generation)
    generation.loaded.reject(new Error(reason))
    for (const call of [...generation.calls.values()]) {
      call.fail(runtimeErrors.functionProcessEnded().retryAfter(1).with({ detail: reason }))
    }
    if (generation !== this.#current) return
    this.#current = undefined
    if (this.#isStopped || this.#folder === undefined) return
    if (performance.now() - generation.startedAt >= steadyMs) this.#ends = 0
    const delayMs = Math.min(firstDelayMs * 2 ** this.#ends, longestDelayMs)
    this.#ends += 1
    this.#deps.log.error({ reason, delayMs }, 'the process of the functions ended; another one starts')
    this.#restartAfter(delayMs, this.#folder)
  }

  #restartAfter(delayMs: number, folder: string): void {
    clearTimeout(this.#restart)
    this.#restart = setTimeout(() => {
      this.loadFolder(folder).catch((error) => {
        if (this.#isStopped || this.#folder !== folder || this.#current !== undefined) return
        const next = Math.min(firstDelayMs * 2 ** this.#ends, longestDelayMs)
        this.#ends += 1
        this.#deps.log.error(
          { reason: messageOf(error), delayMs: next },
          'failed to start the functions again',
        )
        this.#restartAfter(next, folder)
      })
    }, delayMs)
  }

  /** Pings children while calls are in flight, and kills those whose event loop is blocked. */
  #watch(): void {
    const blockMs = Math.min(this.#deps.config.timeout * 1000, longestBlockMs)
    this.#pings ??= setInterval(() => {
      const now = performance.now()
      let hasCalls = false
      for (const generation of this.#generations) {
        const { child, pingedAt, calls } = generation
        hasCalls ||= calls.size > 0 || pingedAt !== undefined
        if (pingedAt !== undefined && now - pingedAt >= blockMs) {
          child.kill(`its event loop was blocked for ${Math.round(blockMs / 1000)} s`)
        } else if (pingedAt === undefined && calls.size > 0) {
          generation.pingedAt = now
          child.send({ type: 'ping' })
        }
      }
      if (hasCalls) return
      clearInterval(this.#pings)
      this.#pings = undefined
    }, blockMs / 4)
  }
}
