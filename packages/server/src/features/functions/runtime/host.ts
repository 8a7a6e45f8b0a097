import type { Logger } from 'pino'
import type { Identity } from '../../../http/access/identity.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { JobDeploys, MessageSender } from '../../../job-queue.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import type { Caller, HookSet } from '../../data/collections/index.ts'
import type { FunctionSecrets } from '../secrets/index.ts'
import type { AfterRun } from './after.ts'
import { administratorFor, type RecordAdminUse, userOf } from './as-admin.ts'
import { describeCaller } from './caller-description.ts'
import {
  type AdminWork,
  Call,
  type CallObserver,
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
import { createHookSet, createNestedHooks, type HookCall, type HookDeps, HookTable } from './hooks.ts'
import { acceptMessage, inboundCaller } from './inbound.ts'
import { SchemaChecks } from './input.ts'
import { type FunctionRows, type JobRun, jobCaller, secondsOfJob, transactionLimitOf } from './jobs.ts'
import { FunctionLog } from './log-limit.ts'
import {
  type AfterDescription,
  type AfterMessage,
  type ArrivedMessage,
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
  type InboundDescription,
  type InboundMessage,
  type JobDescription,
  type JobMessage,
  type RouteDescription,
  readHookOutcomes,
  readVerified,
  type ScheduleDescription,
  type SingleDescription,
  type SingleMessage,
  type TargetRequest,
  type Verified,
  type VerifyMessage,
} from './messages.ts'
import { type PublishedRoute, publishRoutes } from './published-routes.ts'
import { ResponseBody } from './response-body.ts'
import { RouteTable } from './route-table.ts'
import { attemptsOf, isOfSchedule, jobOf } from './schedules.ts'
import type { Seals } from './seals.ts'
import type { SingleKind } from './single-kinds.ts'
import type { SlotSource } from './slots.ts'
import type { CallStorage } from './storage.ts'
import { readHead, StreamedResponse } from './streamed-response.ts'
import { CallTransaction, type CallWork, type TransactionDeps } from './transaction.ts'

/** Maximum number of calls in flight. */
const callLimit = 1000
/** Maximum number of responses that functions stream at once. They do not count as calls. */
const streamLimit = 1000
/** Maximum time for which the event loop of a child may be blocked while calls are in flight. */
const longestBlockMs = 5000
/** Time in which a child must have loaded its functions. */
const loadTimeoutMs = 30_000
/** Time after which a child counts as steady, and the next delay is short again. */
const steadyMs = 30_000
/** Maximum wait of a write for a connection of the functions. */
const longestWaitMs = 5000
/** Number of failures of an earlier deploy in a row, before its jobs run in the current functions: after about nine minutes. */
const earlierFailures = 9
const firstEarlierDelayMs = 2000
const longestEarlierDelayMs = 300_000
/** Maximum number of deploys whose jobs this process remembers. */
const rememberedDeploys = 100
const firstDelayMs = 100
const longestDelayMs = 5000

export interface HostDeps extends TransactionDeps {
  readonly openData: OpenData
  readonly config: Pick<FunctionsConfig, 'timeout' | 'memory_mb' | 'stream_idle_timeout'>
  /** Seconds for which a replaced process still streams responses. */
  readonly graceSeconds: number
  readonly log: Logger
  readonly secrets: FunctionSecrets
  /** Guard of the requests of functions. */
  readonly outbound: Pick<Outbound, 'addressesOf'>
  /** Returns the server that receives the requests of a call, or the reason why none does; undefined outside of tests. */
  readonly stubOf?: ((requestId: string) => FetchStub | string) | undefined
  /** Connections of jobs, which are a part of those of all functions. */
  readonly jobSlots: SlotSource
  readonly enqueueing: Enqueueing
  readonly storage: CallStorage
  readonly seals: Seals
  readonly recordAdminUse: RecordAdminUse
  /** Returns true for a type of job that the server has. */
  readonly isReservedJob: (type: string) => boolean
  /** Returns the reason why the log lacks changes of a table; undefined if it has all. */
  readonly findEventGap: (table: string) => Promise<string | undefined>
  /** Called when other functions are served, or their process has restarted. */
  readonly onLoad: () => void
  /** Path of the program of a child. */
  readonly program: string
}

/** Request with a message of another service. */
export interface Delivery {
  readonly requestId: string
  readonly signal: AbortSignal
  readonly isAbandoned: () => boolean
  readonly address: () => string
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
interface Limits {
  readonly name: string
  readonly seconds: number
}

const noRoutes: readonly PublishedRoute[] = []

/** Call of a function of which there is one. */
export interface SingleCall {
  readonly caller: Caller
  readonly requestId: string
  readonly work: CallWork
  readonly value: object
  readonly isTextAllowed: boolean
  readonly signal?: AbortSignal | undefined
}

/** Error of files that cannot be loaded, however often. */
class FaultyFiles extends Error {}

/** Folder with functions, and its deploy. */
type Code = Pick<Generation, 'folder' | 'deploy'>

/** Failed load, or unexpected end of the process. */
export interface LoadFailure {
  readonly reason: string
  readonly failedAt: Date
  /** Hash of the deploy; undefined for a folder of this machine. */
  readonly deploy: string | undefined
}

/** Child with the functions of one folder, and its calls. */
interface Generation {
  readonly folder: string
  /** Hash of the deploy; undefined for a folder of this machine. */
  readonly deploy: string | undefined
  readonly child: FunctionChild
  readonly startedAt: number
  readonly calls: Map<string, Call>
  /** Calls whose response is being streamed. */
  readonly streams: Map<string, { readonly call: Call; readonly body: ResponseBody }>
  readonly loaded: PromiseWithResolvers<void>
  /** Rejects with the reason when the process ends. */
  readonly ended: PromiseWithResolvers<never>
  functions: readonly FunctionDescription[]
  routes: RouteTable
  hooks: HookTable
  /** Jobs by the type in the queue. */
  jobs: ReadonlyMap<string, JobDescription>
  schedules: readonly ScheduleDescription[]
  /** Functions for changes by their names. */
  afters: ReadonlyMap<string, AfterDescription>
  /** Receivers of messages by the name in their address. */
  inbound: ReadonlyMap<string, InboundDescription>
  /** Hooks for the writes of clients; undefined without any. */
  hookSet: HookSet | undefined
  /** Number of writes that use its hooks. */
  holds: number
  isLoaded: boolean
  /** True once a function has returned or failed. */
  hasEndedCall: boolean
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
  /** Generation of an earlier deploy, for the jobs that were queued with it. */
  #earlier: Generation | undefined
  /** Earlier deploys that have failed: that could not be loaded, or whose process ended before a call did. */
  readonly #earlierFailures = new Map<string, { readonly count: number; readonly failedAt: number }>()
  /** Types of jobs of deploys that this process has loaded. One that cannot be loaded has none. */
  readonly #jobsOf = new Map<string, ReadonlySet<string>>()
  #code: Code | undefined
  /** Number of ends in a row. */
  #ends = 0
  #restart: NodeJS.Timeout | undefined
  /** Repetition of the newest load, which has failed. */
  #reload: NodeJS.Timeout | undefined
  #pings: NodeJS.Timeout | undefined
  #isStopped = false
  /** Number of loads so far, and number of the latest success. */
  #begun = 0
  #latest = 0
  /** Functions that were served last, also while their process restarts. */
  #known:
    | Pick<
        Generation,
        'functions' | 'routes' | 'hooks' | 'hookSet' | 'jobs' | 'schedules' | 'afters' | 'deploy'
      >
    | undefined
  /** True once it is known that there is no folder with functions. */
  #hasNone = false
  #failure: LoadFailure | undefined

  constructor(deps: HostDeps) {
    this.#deps = deps
    this.#log = new FunctionLog(deps.log, deps.secrets)
  }

  /** True if a folder with functions is to be served. */
  get isUsed(): boolean {
    return this.#code !== undefined
  }

  /** Routes that are served; undefined without functions. @throws AppError functions_unavailable */
  get routes(): RouteTable | undefined {
    if (!this.isUsed) return undefined
    if (this.#current === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    return this.#current.routes
  }

  /** Routes that were served last, also while their process restarts. */
  get knownRoutes(): RouteTable | undefined {
    return this.#known?.routes
  }

  /** Functions of all kinds that are loaded. */
  get functions(): readonly FunctionDescription[] {
    return this.#known?.functions ?? []
  }

  /** Newest load, if it has failed. The reason has no secrets. */
  get failure(): LoadFailure | undefined {
    return this.#failure
  }

  /** Routes that were served last, as documents describe them. */
  get publishedRoutes(): readonly PublishedRoute[] {
    return this.#known === undefined ? noRoutes : publishRoutes(this.#known.routes)
  }

  /** Hooks that are loaded. */
  get hooks(): readonly BeforeDescription[] {
    return this.#known?.hooks.hooks ?? []
  }

  /** Jobs that are loaded. */
  get jobs(): readonly JobDescription[] {
    return [...(this.#known?.jobs.values() ?? [])]
  }

  /** Jobs of the earlier deploy that is loaded. */
  get earlierJobs(): readonly JobDescription[] {
    return [...(this.#earlier?.jobs.values() ?? [])]
  }

  /** Hash of the deploy that is served. */
  get deploy(): string | undefined {
    return this.#current?.deploy
  }

  /** Hash of the earlier deploy that is loaded for its jobs. */
  get earlierDeploy(): string | undefined {
    return this.#earlier?.deploy
  }

  /** True unless the earlier deploy runs calls. */
  get isEarlierIdle(): boolean {
    return this.#earlier === undefined || this.#earlier.calls.size === 0
  }

  /** True while a replaced process ends its calls. */
  get isRetiring(): boolean {
    return [...this.#generations].some(({ isReplaced }) => isReplaced)
  }

  /** Returns the rest of the pause after a failure of an earlier deploy. */
  earlierDelayMs(deploy: string): number {
    const failures = this.#earlierFailures.get(deploy)
    if (failures === undefined) return 0
    const delayMs = Math.min(firstEarlierDelayMs * 2 ** (failures.count - 1), longestEarlierDelayMs)
    return Math.max(0, failures.failedAt + delayMs - performance.now())
  }

  /** Returns false for a job that a deploy is known to lack. */
  mayHaveJob(deploy: string, type: string): boolean {
    return this.#jobsOf.get(deploy)?.has(type) ?? true
  }

  /**
   * Returns the deploys whose jobs of a type can run. The current functions run those of deploys that lack the job or cannot be
   * loaded.
   */
  jobDeploys(type: string): JobDeploys {
    const [current, earlier] = [this.#current, this.#earlier]
    const hasLive = current?.jobs.has(type) === true
    const hashes = hasLive ? [...this.#jobsOf.keys()].filter((hash) => !this.mayHaveJob(hash, type)) : []
    for (const generation of [current, earlier]) {
      if (generation?.deploy !== undefined && generation.jobs.has(type)) hashes.push(generation.deploy)
    }
    return { hasLive, hashes }
  }

  /** Functions with rows in the database; undefined if there are no functions. */
  get rows(): FunctionRows | undefined {
    if (this.#known === undefined) return undefined
    const { schedules, deploy } = this.#known
    return { schedules, afters: this.afters, deploy }
  }

  /** Functions for changes that are loaded. */
  get afters(): readonly AfterDescription[] {
    return [...(this.#known?.afters.values() ?? [])]
  }

  /** True unless the process of the functions restarts. */
  get isAvailable(): boolean {
    return this.#current !== undefined
  }

  /** Returns the problem of the payload of a job, if its schema finds one. */
  findPayloadProblem(type: string, payload: object, deploy?: string): string | undefined {
    const earlier = this.#earlierFor(type, deploy)
    return this.#findProblem(earlier ?? this.#known, type, payload)
  }

  /** Returns the earlier generation if it is to run a job. */
  #earlierFor(type: string, deploy: string | undefined): Generation | undefined {
    const earlier = this.#earlier
    return deploy !== undefined && earlier?.deploy === deploy && earlier.jobs.has(type) ? earlier : undefined
  }

  #findProblem(
    known: Pick<Generation, 'jobs'> | undefined,
    type: string,
    payload: object,
  ): string | undefined {
    const description = known?.jobs.get(type)
    if (description === undefined) return undefined
    try {
      this.#checks.readInput(description, payload)
    } catch (error) {
      if (error instanceof AppError) return error.message
      throw error
    }
    return undefined
  }

  /**
   * Returns the hooks of writes; undefined without any. A write must not pass by hooks that are not loaded yet.
   *
   * @throws AppError functions_unavailable while the functions are unknown
   */
  currentHooks(): HookSet | undefined {
    const known = this.#current ?? this.#known
    if (known !== undefined) return known.hookSet
    if (this.#hasNone) return undefined
    throw runtimeErrors.functionsUnavailable().retryAfter(1)
  }

  /**
   * Serves the functions of a folder from now on. Calls in flight end in the child that runs them.
   *
   * @param deploy hash of the deploy; undefined for a folder of this machine
   * @throws Error if they cannot be loaded; the previous ones are still served
   */
  async loadFolder(folder: string, deploy?: string): Promise<void> {
    if (this.#isStopped) return
    this.#begun += 1
    await this.#load({ folder, deploy }, this.#begun)
  }

  /** @param number number of the load; a restart has that of the load that it repeats, so a load in flight is newer */
  async #load(code: Code, number: number): Promise<void> {
    const generation = this.#start(code)
    try {
      await generation.loaded.promise
      // A restart must not fail by what has changed in the database since.
      if (number > this.#latest)
        await Promise.race([generation.ended.promise, this.#requireEvents(generation)])
    } catch (error) {
      generation.isReplaced = true
      generation.child.kill('its functions could not be loaded')
      if (number === this.#begun) this.#noteFailure(code, messageOf(error))
      this.#retry(code, number, error)
      throw error
    }
    if (number < this.#latest) {
      // A load that began later has succeeded before: this one is of an older deploy, or of its restart.
      generation.isReplaced = true
      generation.child.kill('newer functions have been loaded')
      return
    }
    this.#latest = number
    this.#failure = undefined
    this.#code = code
    this.#known = generation
    this.#hasNone = false
    clearTimeout(this.#restart)
    const previous = this.#current
    this.#current = generation
    this.#remember(generation)
    if (generation.deploy === this.#earlier?.deploy) this.#dropEarlier()
    if (previous !== undefined) this.#replace(previous)
    this.#deps.onLoad()
  }

  #noteFailure({ deploy }: Code, reason: string): void {
    this.#failure = { reason: this.#deps.secrets.redact(reason), failedAt: new Date(), deploy }
  }

  /** Remembers the jobs of a deploy, none if it cannot be loaded. */
  #remember({ deploy, jobs }: Pick<Generation, 'deploy' | 'jobs'>): void {
    if (deploy === undefined) return
    this.#jobsOf.delete(deploy)
    this.#jobsOf.set(deploy, new Set(jobs.keys()))
    const [oldest] = this.#jobsOf.keys()
    if (this.#jobsOf.size > rememberedDeploys && oldest !== undefined) this.#jobsOf.delete(oldest)
  }

  /** Keeps a replaced deploy for its waiting jobs, unless another one is kept. */
  #replace(previous: Generation): void {
    const hasJobs = previous.deploy !== undefined && previous.jobs.size > 0
    const isKept = hasJobs && this.#earlier === undefined && previous.deploy !== this.#current?.deploy
    this.#limitStreams(previous)
    if (isKept) this.#earlier = previous
    else this.#retire(previous)
  }

  /**
   * Loads an earlier deploy for the jobs that were queued with it, if none is loaded. After several failures its jobs run in the
   * current functions.
   *
   * @param write returns its folder
   * @throws Error if it cannot be loaded
   */
  async loadEarlier(write: () => Promise<string>, deploy: string): Promise<void> {
    if (this.#isStopped || this.#earlier !== undefined) return
    let generation: Generation | undefined
    try {
      const folder = await write()
      if (this.#isStopped || this.#earlier !== undefined) return
      generation = this.#start({ folder, deploy })
      await generation.loaded.promise
    } catch (error) {
      if (generation !== undefined) {
        generation.isReplaced = true
        generation.child.kill('its functions could not be loaded')
      }
      this.#noteEarlierFailure(deploy, error instanceof FaultyFiles)
      throw error
    }
    this.#remember(generation)
    // Another one has been kept meanwhile, or this one is live again.
    if (this.#earlier !== undefined || this.#current?.deploy === deploy) this.#retire(generation)
    else this.#earlier = generation
    this.#deps.onLoad()
  }

  #noteEarlierFailure(deploy: string, isFaulty: boolean): void {
    const count = 1 + (this.#earlierFailures.get(deploy)?.count ?? 0)
    if (!isFaulty && count < earlierFailures) {
      this.#earlierFailures.set(deploy, { count, failedAt: performance.now() })
      return
    }
    this.#earlierFailures.delete(deploy)
    this.#remember({ deploy, jobs: new Map() })
    this.#deps.onLoad()
  }

  /** Ends the earlier deploy, after its calls. */
  endEarlier(): void {
    this.#dropEarlier()
    this.#deps.onLoad()
  }

  #dropEarlier(): void {
    const earlier = this.#earlier
    this.#earlier = undefined
    if (earlier !== undefined) this.#retire(earlier)
  }

  /** @throws FaultyFiles if a table has no events of all its changes */
  async #requireEvents({ afters }: Generation): Promise<void> {
    const problems: string[] = []
    for (const { name, file, table } of afters.values()) {
      const reason = await this.#deps.findEventGap(table)
      if (reason !== undefined) problems.push(`${file}: ${name}: ${table} has no events: ${reason}`)
    }
    if (problems.length > 0) throw new FaultyFiles(problems.join('\n'))
  }

  /** Serves no functions any more. */
  unload(): void {
    // A load in flight no longer counts.
    this.#begun += 1
    this.#latest = this.#begun
    this.#failure = undefined
    this.#code = undefined
    this.#known = undefined
    this.#hasNone = true
    clearTimeout(this.#restart)
    clearTimeout(this.#reload)
    const current = this.#current
    this.#current = undefined
    if (current !== undefined) {
      this.#limitStreams(current)
      this.#retire(current)
    }
    this.#dropEarlier()
    this.#deps.onLoad()
  }

  /** Makes an attempt of a job. @param given transaction other than its own @throws AppError */
  async runJob(
    type: string,
    payload: object,
    { id, attempt, signal, queuedBy, deploy }: JobRun,
    given?: CallWork,
  ): Promise<void> {
    const generation = this.#earlierFor(type, deploy) ?? this.#current
    const description = generation?.jobs.get(type)
    // Its deploy has ended since the claim.
    const isWrong = deploy !== undefined && !this.jobDeploys(type).hashes.includes(deploy)
    if (generation === undefined || description === undefined || isWrong)
      throw runtimeErrors.functionsUnavailable()
    const caller = jobCaller(id)
    const { jobSlots: slots, database } = this.#deps
    const work =
      given ??
      new CallTransaction({ database, slots }, caller, {
        name: description.name,
        limitMs: transactionLimitOf(description),
      })
    const sender = { userId: queuedBy, limitKey: queuedBy }
    const call = this.#open(generation, description, { caller, requestId: id, work, sender })
    const user = queuedBy === undefined ? undefined : { id: queuedBy }
    const message = { type: 'job' as const, ...describeCaller(caller), user, job: { id }, attempt, payload }
    await this.#run(
      generation,
      call,
      message,
      { name: description.name, seconds: secondsOfJob(description) },
      signal,
    )
  }

  /** Calls a function for a committed change. @param given transaction other than its own @throws AppError */
  async runAfter(
    { name }: Pick<AfterDescription, 'name'>,
    { eventId, requestId, attempt, body, userId, signal, onLog }: AfterRun,
    given?: CallWork,
  ): Promise<void> {
    const generation = this.#current
    const description = generation?.afters.get(name)
    if (generation === undefined || description === undefined) throw runtimeErrors.functionsUnavailable()
    const caller = jobCaller(requestId)
    const { jobSlots: slots, database, secrets } = this.#deps
    const limitMs = transactionLimitOf(description)
    const work = given ?? new CallTransaction({ database, slots }, caller, { name, limitMs })
    const call = this.#open(generation, description, {
      ...{ caller, requestId, work, sender: { userId, limitKey: userId } },
      onLog: (line) => onLog(secrets.redact(line)),
    })
    const message = {
      type: 'after' as const,
      ...describeCaller(caller),
      ...{ user: userId === undefined ? undefined : { id: userId }, event: { id: eventId }, attempt, body },
    }
    await this.#run(generation, call, message, { name, seconds: secondsOfJob(description) }, signal)
  }

  /**
   * Calls a function and returns its result. The caller reads or destroys the body of a response.
   *
   * @param isUndone true if the transaction is rolled back, even after success
   * @param observer receives log lines and statements, without secrets
   * @param signal aborts when the client disconnects
   * @throws AppError
   */
  async call(
    description: RouteDescription,
    caller: Caller,
    message: Omit<CallMessage, 'type' | 'call' | 'name'>,
    {
      requestId,
      signal,
      isUndone,
      observer,
      work: given,
      administrator,
      identity,
    }: {
      readonly requestId: string
      readonly signal: AbortSignal
      readonly isUndone?: boolean
      readonly observer?: CallObserver
      /** Transaction other than its own. */
      readonly work?: CallWork
      /** Address of the administrator who calls, for the audit log. */
      readonly administrator?: string | undefined
      /** Identity of the request, for the addresses that the function signs. */
      readonly identity?: Identity | undefined
    },
  ): Promise<CallOutcome> {
    const generation = this.#current
    if (generation === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const input = this.#checks.readInput(description, message.input)
    const isAdmin = description.admin === true
    const work = given ?? new CallTransaction(this.#deps, caller, { name: description.name, isAdmin })
    const call = this.#open(generation, description, {
      ...{ caller, requestId, work, sender: senderOf(caller), isUndone, isAdmin, administrator, identity },
      ...(observer === undefined ? {} : this.#redacting(observer)),
      check: (value) => this.#checks.checkOutput(description, value),
      respond: (head, opened) => this.#prepareStream(generation, opened, head, signal),
    })
    return await this.#runCall(
      generation,
      call,
      { ...message, input, type: 'call' },
      this.limitsOf(description),
      signal,
    )
  }

  /** @throws AppError too_many_streams; Error if the head cannot be sent */
  #prepareStream(
    generation: Generation,
    call: Call,
    message: HeadMessage,
    signal: AbortSignal,
  ): () => StreamedResponse {
    const head = readHead(message)
    if (!message.hasBody) return () => new StreamedResponse(head, undefined)
    const count = [...this.#generations].reduce((sum, { streams }) => sum + streams.size, 0)
    if (count >= streamLimit) throw runtimeErrors.tooManyStreams(streamLimit).retryAfter(1)
    return () => new StreamedResponse(head, this.#openStream(generation, call, head.length, signal))
  }

  #openStream(
    generation: Generation,
    call: Call,
    length: number | undefined,
    signal: AbortSignal,
  ): ResponseBody {
    const { token, requestId } = call
    // The client has disconnected, or its administrator is no longer admitted.
    const leave = () => void body.destroy()
    const body = new ResponseBody({
      idleMs: this.#deps.config.stream_idle_timeout * 1000,
      length,
      grant: (bytes) => generation.child.send({ type: 'grant', call: token, bytes }),
      onEnd: (error) => {
        signal.removeEventListener('abort', leave)
        generation.streams.delete(token)
        generation.child.send({ type: 'abort', call: token })
        if (error !== undefined) {
          const stack = error instanceof FunctionFailure ? error.stack : undefined
          const message = `the response was cut: ${messageOf(error)}`
          this.#log.fail(call.function.name, requestId, message, stack)
        }
        this.#endUnused(generation)
      },
    })
    generation.streams.set(token, { call, body })
    if (generation.child.hasEnded) body.cut(runtimeErrors.functionProcessEnded())
    // Other functions have been loaded during the call.
    if (generation !== this.#current) this.#limitStream(body)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    return body
  }

  /**
   * Verifies a message of another service and handles it, unless that has been done. The record of the message is the first
   * statement in the transaction of the function, so a failed one leaves none.
   *
   * @param name in the address
   * @param given transaction other than its own, with the caller of the function
   * @returns the result of the function as JSON, undefined for none
   * @throws AppError
   */
  async receive(
    name: string,
    arrived: ArrivedMessage,
    delivery: Delivery,
    given?: CallWork,
  ): Promise<string | undefined> {
    const generation = this.#current
    if (this.isUsed && generation === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const description = generation?.inbound.get(name)
    if (generation === undefined || description === undefined)
      throw runtimeErrors.noSuchFunction('POST', `/api/functions/inbound/${name}`)
    // Its process must not end between the verification and the function.
    generation.holds += 1
    try {
      return await this.#handleMessage(generation, description, arrived, delivery, given)
    } finally {
      generation.holds -= 1
      this.#endUnused(generation)
    }
  }

  async #handleMessage(
    generation: Generation,
    description: InboundDescription,
    arrived: ArrivedMessage,
    { requestId, signal, isAbandoned, address }: Delivery,
    given: CallWork | undefined,
  ): Promise<string | undefined> {
    const limits = this.limitsOf(description)
    const deadline = performance.now() + limits.seconds * 1000
    const caller: Caller = {
      ...inboundCaller(description, requestId, address),
      isAbandoned,
    }
    const verified = await this.#verify(generation, description, caller, arrived, {
      requestId,
      signal,
      deadline,
    })
    const isAdmin = description.admin === true
    const work = given ?? new CallTransaction(this.#deps, caller, { name: description.name, isAdmin })
    const outcome = await acceptMessage(work, description, verified, {
      seals: this.#deps.seals,
      deadline,
      signal,
      refuse: () => runtimeErrors.functionTimeout(limits.seconds),
    })
    if (outcome !== 'accepted') {
      if (!work.isNested) work.rollback()
      if (outcome === 'duplicate') return undefined
      throw runtimeErrors.inboundRefused().with({ detail: 'the message is stale' })
    }
    const sender = senderOf(caller)
    const call = this.#open(generation, description, { caller, requestId, work, sender, isAdmin })
    const { claims } = describeCaller(caller)
    const message = { type: 'inbound' as const, claims, request: { id: requestId }, arrived, verified }
    try {
      if (generation.child.hasEnded) throw runtimeErrors.functionsUnavailable().retryAfter(1)
      return await this.#run(generation, call, message, limits, signal, deadline)
    } catch (error) {
      // A call that has not begun does not end its transaction.
      if (!work.isNested) work.rollback()
      throw error
    }
  }

  /** @throws AppError inbound_refused, function_failed */
  async #verify(
    generation: Generation,
    description: InboundDescription,
    caller: Caller,
    arrived: ArrivedMessage,
    { requestId, signal, deadline }: Pick<Delivery, 'requestId' | 'signal'> & { readonly deadline: number },
  ): Promise<Verified> {
    // A verification gets no database.
    const work = new CallTransaction(this.#deps, caller, { name: description.name })
    const call = new Call(description, {
      ...{ caller, requestId, work, openData: this.#deps.openData, check: () => {} },
      enqueue: () => Promise.reject(runtimeErrors.transactionEnded()),
      send: () => Promise.reject(runtimeErrors.transactionEnded()),
      hooks: { current: () => undefined },
    })
    const limits = this.limitsOf(description)
    const message = { type: 'verify' as const, arrived }
    const json = await this.#run(generation, call, message, limits, signal, deadline).catch((error) => {
      // The message of the verification may say more than the sender may know.
      if (!(error instanceof AppError) || error.status >= 500) throw error
      throw runtimeErrors.inboundRefused().with({ detail: error.message })
    })
    let verified: Verified | undefined
    try {
      verified = readVerified(json)
    } catch (cause) {
      throw runtimeErrors.functionFailed().with({ cause })
    }
    if (verified === undefined) throw runtimeErrors.inboundRefused()
    return verified
  }

  /** Opens a call without a function: the requests for data of a test. @throws AppError functions_unavailable */
  openData(caller: Caller, requestId: string, work: CallWork): Pick<Call, 'handle'> {
    const generation = this.#current
    if (generation === undefined) throw runtimeErrors.functionsUnavailable()
    return this.#open(generation, { name: 'test' }, { caller, requestId, work, sender: senderOf(caller) })
  }

  /**
   * Returns the function of a kind of which there is one; undefined without one.
   *
   * @throws AppError functions_unavailable while the functions are unknown
   */
  findSingle(kind: SingleKind): SingleDescription | undefined {
    const known = this.#current ?? this.#known
    if (known === undefined && !this.#hasNone) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    return known?.functions.find((each): each is SingleDescription => each.kind === kind)
  }

  /**
   * Calls the function of a kind of which there is one, and returns its result as JSON; undefined for none.
   *
   * @throws AppError functions_unavailable, function_failed, function_timeout, …
   */
  async callSingle(
    kind: SingleKind,
    { caller, requestId, work, value, isTextAllowed, signal }: SingleCall,
  ): Promise<string | undefined> {
    const description = this.findSingle(kind)
    if (description === undefined) return undefined
    const generation = this.#current
    if (generation === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const call = this.#open(generation, description, {
      ...{ caller, requestId, work, sender: senderOf(caller), isTextAllowed, hasStorage: false },
    })
    const { claims } = describeCaller(caller)
    const message = { type: 'single' as const, claims, request: { id: requestId }, value }
    return await this.#run(generation, call, message, this.limitsOf(description), signal)
  }

  /** Opens the call of a function, whose hooks, jobs and messages are those of its transaction. */
  #open(
    generation: Generation,
    description: Call['function'],
    {
      work,
      sender,
      isAdmin = false,
      administrator,
      identity,
      hasStorage = true,
      ...terms
    }: Pick<
      CallTerms,
      'caller' | 'requestId' | 'onLog' | 'onStatement' | 'isUndone' | 'isTextAllowed' | 'respond'
    > &
      Partial<Pick<CallTerms, 'check'>> & {
        readonly work: CallWork
        readonly sender: MessageSender
        readonly isAdmin?: boolean
        readonly administrator?: string | undefined
        readonly identity?: Identity | undefined
        readonly hasStorage?: boolean
      },
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
      const hooks = createNestedHooks(this.#hookDeps(generation), { ...outer, statements }, 0)
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
      enqueue: this.#enqueue(generation, sender.userId, description),
      send: this.#send(sender),
      hooks: createNestedHooks(this.#hookDeps(generation), outer, 0),
    })
  }

  /** Runs a call of a function that makes no response. @returns its result as JSON; undefined for none @throws AppError */
  async #run(
    generation: Generation,
    call: Call,
    message: Work,
    limits: Limits,
    signal?: AbortSignal,
    deadline?: number,
  ): Promise<string | undefined> {
    const outcome = await this.#runCall(generation, call, message, limits, signal, deadline)
    if (outcome instanceof StreamedResponse) throw new Error('a function without a response has one')
    return outcome
  }

  /** Sends a call to the child, and returns its result. @throws AppError */
  async #runCall(
    generation: Generation,
    call: Call,
    message: Work,
    { name, seconds }: Limits,
    signal?: AbortSignal,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<CallOutcome> {
    if (generation.calls.size >= callLimit) throw runtimeErrors.tooManyCalls(callLimit).retryAfter(1)
    const leave = () => call.fail(runtimeErrors.functionTimeout(seconds))
    const timer = setTimeout(leave, Math.max(0, Math.min(seconds * 1000, deadline - performance.now())))
    if (signal?.aborted === true) leave()
    signal?.addEventListener('abort', leave, { once: true })
    generation.calls.set(call.token, call)
    this.#watch()
    try {
      this.#sendSecrets(generation)
      sendCall(generation, { ...message, call: call.token, name })
      return await call.outcome
    } catch (error) {
      // A disconnected caller or a stopping server is no fault of the function.
      if (signal?.aborted !== true) this.#noteError(call, message.type, error)
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      generation.calls.delete(call.token)
      // The call of a stream ends with its body.
      if (!call.hasReturned && !generation.streams.has(call.token))
        generation.child.send({ type: 'abort', call: call.token })
      this.#endUnused(generation)
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
    this.#log.fail(name, requestId, message, stack)
  }

  /** Returns the name and the time limit of a function in seconds. */
  limitsOf({ name, timeout: own }: Pick<FunctionDescription, 'name' | 'timeout'>) {
    const { timeout } = this.#deps.config
    return { name, seconds: Math.min(own ?? timeout, timeout) }
  }

  /** Returns the function that adds jobs in a call. @param queuedBy id of the user on whose behalf */
  #enqueue(
    generation: Generation,
    queuedBy: string | undefined,
    caller: Call['function'],
  ): CallTerms['enqueue'] {
    const findProblem = (type: string, payload: object) => this.#findProblem(generation, type, payload)
    return (request, work) => {
      const job = isOfSchedule(request.job) ? undefined : generation.jobs.get(request.job)
      // A job that adds itself again follows the deploys. Otherwise it would stay in its first one.
      const deploy = job === undefined || job.name === caller.name ? undefined : generation.deploy
      const attempts = job && attemptsOf(job.retries)
      return this.#deps.enqueueing.add(request, work, { queuedBy, attempts, deploy }, findProblem)
    }
  }

  #send(sender: MessageSender): CallTerms['send'] {
    return (request, work) => this.#deps.enqueueing.send(request, work, sender)
  }

  #hookDeps(generation: Generation): HookDeps {
    const { database, slots, config } = this.#deps
    return {
      ...{ database, slots },
      table: generation.hooks,
      limitMs: config.timeout * 1000,
      waitMs: Math.min(config.timeout * 500, longestWaitMs),
      call: (hook, terms) => this.#callHook(generation, hook, terms),
      hold: () => {
        generation.holds += 1
        return () => {
          generation.holds -= 1
          this.#endUnused(generation)
        }
      },
    }
  }

  async #callHook(
    generation: Generation,
    hook: BeforeDescription,
    { caller, work, hooks, changes, isCollecting, deadline, isTextAllowed }: HookCall,
  ): Promise<readonly HookOutcome[]> {
    if (generation.child.hasEnded) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const requestId = caller.origin?.().requestId ?? ''
    const { openData } = this.#deps
    const enqueue = this.#enqueue(generation, userOf(caller), hook)
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
    const json = await this.#run(generation, call, message, this.limitsOf(hook), caller.signal?.(), deadline)
    try {
      return readHookOutcomes(json, changes.length, isCollecting).map(({ values, refusal }) => ({
        ...(values === undefined ? {} : { values }),
        ...(refusal === undefined ? {} : { refusal: this.#redact(refusal) }),
      }))
    } catch (cause) {
      throw runtimeErrors.functionFailed().with({ cause })
    }
  }

  /** Ends a child that was replaced, once nothing uses it. */
  #endUnused({ isReplaced, calls, streams, holds, child }: Generation): void {
    if (isReplaced && calls.size + streams.size === 0 && holds === 0) child.kill('it was replaced')
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#restart)
    clearTimeout(this.#reload)
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

  #start({ folder, deploy }: Code): Generation {
    const { program, config } = this.#deps
    const generation: Generation = {
      ...{ folder, deploy },
      startedAt: performance.now(),
      calls: new Map(),
      streams: new Map(),
      loaded: Promise.withResolvers<void>(),
      ended: Promise.withResolvers<never>(),
      functions: [],
      routes: new RouteTable([]),
      hooks: new HookTable([]),
      jobs: new Map(),
      inbound: new Map(),
      schedules: [],
      afters: new Map(),
      hookSet: undefined,
      holds: 0,
      isLoaded: false,
      hasEndedCall: false,
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
    generation.ended.promise.catch(() => undefined)
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
    this.#endUnused(generation)
  }

  /** Limits the rest of the responses of functions that others have replaced. */
  #limitStreams({ streams }: Generation): void {
    for (const { body } of streams.values()) this.#limitStream(body)
  }

  #limitStream(body: ResponseBody): void {
    const reason = 'other functions have been loaded, and the time for the rest of the response is over'
    const timer = setTimeout(() => body.cut(new Error(reason)), this.#deps.graceSeconds * 1000).unref()
    body.once('close', () => clearTimeout(timer))
  }

  #receive(generation: Generation, message: FromChild): void {
    switch (message.type) {
      case 'loaded': {
        if (generation.isLoaded) throw new Error('functions are loaded once')
        const problems = findProblems(message.functions, this.#deps.isReservedJob)
        if (problems.length > 0) {
          generation.loaded.reject(new FaultyFiles(problems.join('\n')))
          break
        }
        generation.isLoaded = true
        generation.functions = message.functions
        generation.routes = new RouteTable(message.functions.filter((each) => each.kind === 'route'))
        generation.hooks = new HookTable(message.functions)
        generation.inbound = new Map(
          message.functions.flatMap((each) => (each.kind === 'inbound' ? [[each.inbound, each]] : [])),
        )
        generation.jobs = new Map(message.functions.flatMap(jobOf).map((each) => [each.job, each]))
        generation.schedules = message.functions.filter((each) => each.kind === 'schedule')
        generation.afters = new Map(
          message.functions.flatMap((each) => (each.kind === 'after' ? [[each.name, each]] : [])),
        )
        if (!generation.hooks.isEmpty) generation.hookSet = createHookSet(this.#hookDeps(generation))
        generation.loaded.resolve()
        break
      }
      case 'unloadable':
        generation.loaded.reject(new FaultyFiles(message.problems.join('\n')))
        break
      case 'pong':
        generation.pingedAt = undefined
        break
      case 'log': {
        const call = message.call === undefined ? undefined : findCall(generation, message.call)
        const { level, message: line, fields } = message
        call?.onLog?.(`${level}: ${line}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`)
        const names = call && { requestId: call.requestId, function: call.function.name }
        this.#log.write(message.level, message.message, { ...message.fields, source: 'functions', ...names })
        break
      }
      case 'target': {
        const call = findCall(generation, message.call)
        if (call === undefined)
          generation.child.send(failureReply(message.id, runtimeErrors.transactionEnded()))
        else void this.#replyTarget(generation, call, message)
        break
      }
      case 'request':
      case 'sql':
      case 'enqueue':
      case 'storage':
      case 'send': {
        const call = generation.calls.get(message.call)
        if (call === undefined)
          generation.child.send(failureReply(message.id, runtimeErrors.transactionEnded()))
        else void this.#reply(generation, call, message)
        break
      }
      case 'result':
        this.#noteCallEnd(generation)
        void generation.calls.get(message.call)?.succeed(message)
        break
      case 'head':
        void generation.calls.get(message.call)?.respond(message)
        break
      case 'chunk':
        generation.streams.get(message.call)?.body.receive(Buffer.from(message.bytes, 'base64'))
        break
      case 'end':
        this.#endStream(generation, message)
        break
      case 'failure':
        this.#noteCallEnd(generation)
        void generation.calls.get(message.call)?.refuse(this.#redact(message))
        break
    }
  }

  /** Ends the body of a response, or cuts it after an error of the function. */
  #endStream({ streams }: Generation, { call: token, failure }: EndMessage): void {
    const { call, body } = streams.get(token) ?? {}
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

  /** Returns an observer that receives no secrets. */
  #redacting({ onLog, onStatement }: CallObserver): CallObserver {
    const { secrets } = this.#deps
    return {
      onLog: (line) => onLog(secrets.redact(line)),
      onStatement: ({ text, durationMs, error }) =>
        onStatement({
          text: secrets.redact(text),
          durationMs,
          error: error === undefined ? undefined : secrets.redact(error),
        }),
    }
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

  /** Sends the addresses to which `ctx.fetch` may connect. */
  async #replyTarget(
    generation: Generation,
    { isOpen, requestId, function: { name } }: Call,
    { id, host }: TargetRequest,
  ): Promise<void> {
    if (isOpen)
      this.#log.write(
        'warn',
        'ctx.fetch holds a transaction open until the response: call it before ctx.db',
        {
          ...{ host, source: 'functions', requestId, function: name },
        },
      )
    const stub = this.#deps.stubOf?.(requestId)
    if (stub !== undefined) {
      const reply = typeof stub === 'string' ? { error: stub } : { stub }
      generation.child.send({ type: 'addresses', id, addresses: [], ...reply })
      return
    }
    const reply = await this.#deps.outbound.addressesOf(host).then(
      (addresses) => ({ addresses }),
      (error) => ({ addresses: [], error: messageOf(error) }),
    )
    generation.child.send({ type: 'addresses', id, ...reply })
  }

  #ended(generation: Generation, reason: string): void {
    this.#generations.delete(generation)
    const error = new Error(reason)
    generation.loaded.reject(error)
    generation.ended.reject(error)
    for (const call of [...generation.calls.values()]) {
      call.fail(runtimeErrors.functionProcessEnded().retryAfter(1).with({ detail: reason }))
    }
    for (const { body } of [...generation.streams.values()])
      body.cut(new Error(`the process of the functions ended: ${reason}`))
    if (generation === this.#earlier) {
      this.#earlier = undefined
      if (!this.#isStopped) {
        this.#noteEarlierEnd(generation, reason)
        this.#deps.onLoad()
      }
    }
    if (generation !== this.#current) return
    this.#current = undefined
    if (this.#isStopped || this.#code === undefined) return
    if (performance.now() - generation.startedAt >= steadyMs) this.#ends = 0
    this.#noteFailure(this.#code, reason)
    this.#restartLater(this.#code, this.#latest, reason, 'the process of the functions ended')
  }

  /** Counts the end of an earlier deploy as a failure, if it came soon and before the end of a call. */
  #noteEarlierEnd({ deploy, hasEndedCall, startedAt }: Generation, reason: string): void {
    if (deploy === undefined || hasEndedCall || performance.now() - startedAt >= steadyMs) return
    this.#noteEarlierFailure(deploy, false)
    this.#deps.log.error({ deploy, reason }, 'the process of an earlier deploy of functions ended')
  }

  /** Marks the process of a deploy as one that works. */
  #noteCallEnd(generation: Generation): void {
    generation.hasEndedCall = true
    if (generation.deploy !== undefined) this.#earlierFailures.delete(generation.deploy)
  }

  /**
   * Repeats a failed load: a restart while nothing is served, and the newest load unless its files are at fault, also
   * while previous functions are served.
   */
  #retry(code: Code, number: number, error: unknown): void {
    if (this.#isStopped) return
    if (number > this.#latest) {
      if (number === this.#begun && !(error instanceof FaultyFiles)) this.#reloadLater(code, number, error)
    } else if (number === this.#latest && this.#current === undefined)
      this.#restartLater(code, number, messageOf(error), 'failed to start the functions')
  }

  #reloadLater(code: Code, number: number, error: unknown): void {
    const delayMs = this.#nextDelay()
    this.#deps.log.error(
      { reason: messageOf(error), delayMs },
      'failed to load the functions; another process starts',
    )
    clearTimeout(this.#reload)
    this.#reload = setTimeout(() => {
      // A newer load has begun meanwhile.
      if (number === this.#begun) void this.#load(code, number).catch(() => undefined)
    }, delayMs)
  }

  #restartLater(code: Code, number: number, reason: string, event: string): void {
    const delayMs = this.#nextDelay()
    this.#deps.log.error({ reason, delayMs }, `${event}; another process starts`)
    clearTimeout(this.#restart)
    // A failure begins the next delay.
    this.#restart = setTimeout(() => void this.#load(code, number).catch(() => undefined), delayMs)
  }

  #nextDelay(): number {
    const delayMs = Math.min(firstDelayMs * 2 ** this.#ends, longestDelayMs)
    this.#ends += 1
    return delayMs
  }

  /** Pings children while calls are in flight, and kills those whose event loop is blocked. */
  #watch(): void {
    const blockMs = Math.min(this.#deps.config.timeout * 1000, longestBlockMs)
    this.#pings ??= setInterval(() => {
      const now = performance.now()
      let hasCalls = false
      for (const generation of this.#generations) {
        const { child, pingedAt, calls, streams } = generation
        const isUsed = calls.size + streams.size > 0
        hasCalls ||= isUsed || pingedAt !== undefined
        if (pingedAt !== undefined && now - pingedAt >= blockMs) {
          child.kill(`its event loop was blocked for ${Math.round(blockMs / 1000)} s`)
        } else if (pingedAt === undefined && isUsed) {
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

/** Finds a call that has not ended, or whose response is being streamed. */
function findCall({ calls, streams }: Generation, token: string): Call | undefined {
  return calls.get(token) ?? streams.get(token)?.call
}

/** @throws AppError input_too_large */
function sendCall(
  { child }: Generation,
  message:
    | CallMessage
    | HookMessage
    | JobMessage
    | AfterMessage
    | VerifyMessage
    | InboundMessage
    | SingleMessage,
): void {
  try {
    child.send(message)
  } catch (error) {
    if (error instanceof RangeError) throw runtimeErrors.inputTooLarge()
    throw error
  }
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

/** Returns the sender of messages. Requests without a token share a limit, and administrators have none. */
function senderOf(caller: Caller): MessageSender {
  const userId = userOf(caller)
  return { userId, limitKey: userId ?? (caller.scope.kind === 'anonymous' ? 'anonymous' : undefined) }
}
