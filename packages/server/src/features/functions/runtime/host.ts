import { existsSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Identity } from '../../../http/access/identity.ts'
import type { JobDeploys } from '../../../job-queue.ts'
import { AppError, messageOf } from '../../../lib/errors.ts'
import type { Caller, HookSet } from '../../data/collections/index.ts'
import type { AfterRun } from './after.ts'
import { describeCaller } from './caller-description.ts'
import { Call, type CallObserver, type CallOutcome } from './calls.ts'
import { runtimeErrors } from './errors.ts'
import {
  type Code,
  FaultyFiles,
  Generation,
  type GenerationDeps,
  type Limits,
  limitsOf,
  ProcessEnd,
  senderOf,
} from './generation.ts'
import { acceptMessage, inboundCaller } from './inbound.ts'
import { SchemaChecks } from './input.ts'
import { type FunctionRows, type JobRun, jobCaller, secondsOfJob, transactionLimitOf } from './jobs.ts'
import { describeProblems } from './load-problems.ts'
import type { LoadedFunctions } from './loaded-functions.ts'
import { FunctionLog } from './log-limit.ts'
import {
  type AfterDescription,
  type ArrivedMessage,
  type BeforeDescription,
  type CallMessage,
  type FunctionDescription,
  type InboundDescription,
  type JobDescription,
  type RouteDescription,
  readVerified,
  type SingleDescription,
  type Verified,
} from './messages.ts'
import { type PublishedRoute, publishRoutes } from './published-routes.ts'
import type { RouteTable } from './route-table.ts'
import type { Seals } from './seals.ts'
import type { SingleKind } from './single-kinds.ts'
import type { SlotSource } from './slots.ts'
import { CallTransaction, type CallWork } from './transaction.ts'

/** Time after which a child counts as steady, and the next delay is short again. */
const steadyMs = 30_000
/** Number of failures of an earlier deploy in a row, before its jobs run in the current functions: after about nine minutes. */
const earlierFailures = 9
const firstEarlierDelayMs = 2000
const longestEarlierDelayMs = 300_000
/** Maximum number of deploys whose jobs this process remembers. */
const rememberedDeploys = 100
const firstDelayMs = 100
const longestDelayMs = 5000

export interface HostDeps extends GenerationDeps {
  readonly log: Logger
  /** Connections of jobs, which are a part of those of all functions. */
  readonly jobSlots: SlotSource
  readonly seals: Seals
  /** Returns the reason why the log lacks changes of a table; undefined if it has all. */
  readonly findEventGap: (table: string) => Promise<string | undefined>
  /** Called when other functions are served, or their process has restarted. */
  readonly onLoad: () => void
}

/** Request with a message of another service. */
export interface Delivery {
  readonly requestId: string
  readonly signal: AbortSignal
  readonly isAbandoned: () => boolean
  readonly address: () => string
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

/** Failed load, or unexpected end of the process. */
export interface LoadFailure {
  readonly reason: string
  readonly failedAt: Date
  /** Hash of the deploy; undefined for a folder of this machine. */
  readonly deploy: string | undefined
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
  #isStopped = false
  /** Number of loads so far, and number of the latest success. */
  #begun = 0
  #latest = 0
  /** Functions that were served last, also while their process restarts. */
  #known: Generation | undefined
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

  /** True while it is unknown which functions there are: the live ones have not been loaded yet. */
  get isUnknown(): boolean {
    return this.#known === undefined && !this.#hasNone
  }

  /** Routes that are served; undefined without functions. @throws AppError functions_unavailable */
  get routes(): RouteTable | undefined {
    if (!this.isUsed && !this.isUnknown) return undefined
    if (this.#current === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    return this.#current.functions.routes
  }

  /** Routes that were served last, also while their process restarts. */
  get knownRoutes(): RouteTable | undefined {
    return this.#known?.functions.routes
  }

  /** Functions of all kinds that are loaded. */
  get functions(): readonly FunctionDescription[] {
    return this.#known?.functions.all ?? []
  }

  /** Newest load, if it has failed. The reason has no secrets. */
  get failure(): LoadFailure | undefined {
    return this.#failure
  }

  /** Routes that were served last, as documents describe them. */
  get publishedRoutes(): readonly PublishedRoute[] {
    return this.#known === undefined ? noRoutes : publishRoutes(this.#known.functions.routes)
  }

  /** Hooks that are loaded. */
  get hooks(): readonly BeforeDescription[] {
    return this.#known?.functions.hooks.hooks ?? []
  }

  /** Jobs that are loaded. */
  get jobs(): readonly JobDescription[] {
    return [...(this.#known?.functions.jobs.values() ?? [])]
  }

  /** Jobs of the earlier deploy that is loaded. */
  get earlierJobs(): readonly JobDescription[] {
    return [...(this.#earlier?.functions.jobs.values() ?? [])]
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
    return this.#earlier?.hasCalls !== true
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
    const hasLive = current?.functions.jobs.has(type) === true
    const hashes = hasLive ? [...this.#jobsOf.keys()].filter((hash) => !this.mayHaveJob(hash, type)) : []
    for (const generation of [current, earlier]) {
      if (generation?.deploy !== undefined && generation.functions.jobs.has(type))
        hashes.push(generation.deploy)
    }
    return { hasLive, hashes }
  }

  /** Functions with rows in the database; undefined if there are no functions. */
  get rows(): FunctionRows | undefined {
    if (this.#known === undefined) return undefined
    const { functions, deploy } = this.#known
    return { schedules: functions.schedules, afters: this.afters, deploy }
  }

  /** Functions for changes that are loaded. */
  get afters(): readonly AfterDescription[] {
    return [...(this.#known?.functions.afters.values() ?? [])]
  }

  /** True unless the process of the functions restarts. */
  get isAvailable(): boolean {
    return this.#current !== undefined
  }

  /** Returns the problem of the payload of a job, if its schema finds one. */
  findPayloadProblem(type: string, payload: object, deploy?: string): string | undefined {
    const earlier = this.#earlierFor(type, deploy)
    return (earlier ?? this.#known)?.findPayloadProblem(type, payload)
  }

  /** Returns the earlier generation if it is to run a job. */
  #earlierFor(type: string, deploy: string | undefined): Generation | undefined {
    const earlier = this.#earlier
    return deploy !== undefined && earlier?.deploy === deploy && earlier.functions.jobs.has(type)
      ? earlier
      : undefined
  }

  /**
   * Returns the hooks of writes; undefined without any. A write must not pass by hooks that are not loaded yet.
   *
   * @throws AppError functions_unavailable while the functions are unknown
   */
  currentHooks(): HookSet | undefined {
    if (this.isUnknown) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    return (this.#current ?? this.#known)?.hookSet
  }

  /**
   * Serves the functions of a folder from now on. Running calls end in the child that runs them.
   *
   * @param deploy hash of the deploy; undefined for a folder of this machine
   * @throws Error if they cannot be loaded; the previous ones are still served
   */
  async loadFolder(folder: string, deploy?: string): Promise<void> {
    if (this.#isStopped) return
    this.#begun += 1
    await this.#load({ folder, deploy }, this.#begun)
  }

  /** @param number number of the load. A restart has the number of the load that it repeats, so loads begun since are newer. */
  async #load(code: Code, number: number): Promise<void> {
    const generation = this.#start(code)
    try {
      await generation.loaded
      // A restart must not fail by what has changed in the database since.
      if (number > this.#latest) await Promise.race([generation.ended, this.#requireEvents(generation)])
    } catch (error) {
      generation.discard('its functions could not be loaded')
      if (number === this.#begun) this.#noteFailure(code, messageOf(error))
      this.#retry(code, number, error)
      throw error
    }
    if (number < this.#latest) {
      // A load that began later has succeeded before: this one is of an older deploy, or of its restart.
      generation.discard('newer functions have been loaded')
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
    this.#remember(generation.deploy, generation.functions.jobs)
    if (generation.deploy === this.#earlier?.deploy) this.#dropEarlier()
    if (previous !== undefined) this.#replace(previous)
    this.#deps.onLoad()
  }

  #noteFailure({ deploy }: Code, reason: string): void {
    this.#failure = { reason: this.#deps.secrets.redact(reason), failedAt: new Date(), deploy }
  }

  /** Remembers the jobs of a deploy, none if it cannot be loaded. */
  #remember(deploy: string | undefined, jobs: LoadedFunctions['jobs']): void {
    if (deploy === undefined) return
    this.#jobsOf.delete(deploy)
    this.#jobsOf.set(deploy, new Set(jobs.keys()))
    const [oldest] = this.#jobsOf.keys()
    if (this.#jobsOf.size > rememberedDeploys && oldest !== undefined) this.#jobsOf.delete(oldest)
  }

  /** Keeps a replaced deploy for its waiting jobs, unless another one is kept. */
  #replace(previous: Generation): void {
    const hasJobs = previous.deploy !== undefined && previous.functions.jobs.size > 0
    const isKept = hasJobs && this.#earlier === undefined && previous.deploy !== this.#current?.deploy
    previous.supersede()
    if (isKept) this.#earlier = previous
    else previous.retire()
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
      await generation.loaded
    } catch (error) {
      generation?.discard('its functions could not be loaded')
      this.#noteEarlierFailure(deploy, error instanceof FaultyFiles)
      throw error
    }
    this.#remember(generation.deploy, generation.functions.jobs)
    // Another one has been kept meanwhile, or this one is live again.
    if (this.#earlier !== undefined || this.#current?.deploy === deploy) generation.retire()
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
    this.#remember(deploy, new Map())
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
    earlier?.retire()
  }

  /** @throws FaultyFiles if a table has no events of all its changes */
  async #requireEvents({ functions: { afters } }: Generation): Promise<void> {
    const problems: string[] = []
    for (const { name, file, table } of afters.values()) {
      const reason = await this.#deps.findEventGap(table)
      if (reason !== undefined) problems.push(`${file}: ${name}: ${table} has no events: ${reason}`)
    }
    if (problems.length > 0) throw new FaultyFiles(problems)
  }

  /**
   * Returns the reason why the functions of a deploy cannot be loaded, without secrets; undefined if they can. A process of their
   * own loads them and ends. They are not served.
   *
   * @throws AppError functions_unavailable if the server stops
   */
  async findLoadProblem(folder: string, deploy: string): Promise<string | undefined> {
    if (this.#isStopped) throw runtimeErrors.functionsUnavailable()
    // No process starts in a folder that does not exist.
    if (!existsSync(folder)) return 'the deploy has no folder functions'
    const generation = this.#start({ folder, deploy })
    try {
      await generation.loaded
      await Promise.race([generation.ended, this.#requireEvents(generation)])
      return undefined
    } catch (error) {
      if (this.#isStopped) throw runtimeErrors.functionsUnavailable()
      const { secrets } = this.#deps
      if (error instanceof ProcessEnd) return `the process of the functions ended: ${error.message}`
      if (!(error instanceof FaultyFiles)) throw error
      return describeProblems(
        error.problems.map((problem) => secrets.redact(problem)),
        folder,
      )
    } finally {
      generation.discard('its functions are not served')
    }
  }

  /** Serves no functions any more. */
  unload(): void {
    // A load that has begun no longer counts.
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
      current.supersede()
      current.retire()
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
    const description = generation?.functions.jobs.get(type)
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
    const call = generation.open(description, { caller, requestId: id, work, sender })
    const user = queuedBy === undefined ? undefined : { id: queuedBy }
    const message = { type: 'job' as const, ...describeCaller(caller), user, job: { id }, attempt, payload }
    const limits = { name: description.name, seconds: secondsOfJob(description) }
    await generation.run(call, message, limits, { signal })
  }

  /** Calls a function for a committed change. @param given transaction other than its own @throws AppError */
  async runAfter(
    { name }: Pick<AfterDescription, 'name'>,
    { eventId, requestId, attempt, body, userId, signal, onLog }: AfterRun,
    given?: CallWork,
  ): Promise<void> {
    const generation = this.#current
    const description = generation?.functions.afters.get(name)
    if (generation === undefined || description === undefined) throw runtimeErrors.functionsUnavailable()
    const caller = jobCaller(requestId)
    const { jobSlots: slots, database, secrets } = this.#deps
    const limitMs = transactionLimitOf(description)
    const work = given ?? new CallTransaction({ database, slots }, caller, { name, limitMs })
    const call = generation.open(description, {
      // The function is the operator's: messages for changes of a user do not count for that user.
      ...{ caller, requestId, work, sender: { userId, limitKey: undefined } },
      onLog: (line) => onLog(secrets.redact(line)),
    })
    const message = {
      type: 'after' as const,
      ...describeCaller(caller),
      ...{ user: userId === undefined ? undefined : { id: userId }, event: { id: eventId }, attempt, body },
    }
    await generation.run(call, message, { name, seconds: secondsOfJob(description) }, { signal })
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
    const isAdmin = description.admin === true
    if (isAdmin && given === undefined) await this.#requireAdministrator()
    const generation = this.#current
    if (generation === undefined) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const input = this.#checks.readInput(description, message.input)
    const work = given ?? new CallTransaction(this.#deps, caller, { name: description.name, isAdmin })
    const call = generation.open(description, {
      ...{ caller, requestId, work, sender: senderOf(caller), isUndone, isAdmin, administrator, identity },
      ...(observer === undefined ? {} : this.#redacting(observer)),
      check: (value) => this.#checks.checkOutput(description, value),
      respond: (head, opened) => generation.prepareStream(opened, head, signal),
    })
    const sent = { ...message, input, type: 'call' as const }
    return await generation.runCall(call, sent, this.limitsOf(description), { signal })
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
    if (generation === undefined && (this.isUsed || this.isUnknown))
      throw runtimeErrors.functionsUnavailable().retryAfter(1)
    const description = generation?.functions.inbound.get(name)
    if (generation === undefined || description === undefined)
      throw runtimeErrors.noSuchFunction('POST', `/api/functions/inbound/${name}`)
    // Its process must not end between the verification and the function.
    const release = generation.hold()
    try {
      return await this.#handleMessage(generation, description, arrived, delivery, given)
    } finally {
      release()
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
    if (isAdmin && given === undefined) await this.#requireAdministrator()
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
    const call = generation.open(description, { caller, requestId, work, sender, isAdmin })
    const { claims } = describeCaller(caller)
    const message = { type: 'inbound' as const, claims, request: { id: requestId }, arrived, verified }
    try {
      if (generation.hasEnded) throw runtimeErrors.functionsUnavailable().retryAfter(1)
      return await generation.run(call, message, limits, { signal, deadline })
    } catch (error) {
      // A call that has not begun does not end its transaction.
      if (!work.isNested) work.rollback()
      throw error
    }
  }

  /** @throws AppError as_admin_unavailable if the database serves no function with `admin: true` */
  async #requireAdministrator(): Promise<void> {
    const fault = await this.#deps.database.findAdministratorFault()
    if (fault !== undefined) throw runtimeErrors.asAdminUnavailable().with({ detail: fault })
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
    const json = await generation.run(call, message, limits, { signal, deadline }).catch((error) => {
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
    return generation.open({ name: 'test' }, { caller, requestId, work, sender: senderOf(caller) })
  }

  /**
   * Returns the function of a kind of which there is one; undefined without one.
   *
   * @throws AppError functions_unavailable while the functions are unknown
   */
  findSingle(kind: SingleKind): SingleDescription | undefined {
    if (this.isUnknown) throw runtimeErrors.functionsUnavailable().retryAfter(1)
    return (this.#current ?? this.#known)?.functions.single(kind)
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
    const call = generation.open(description, {
      ...{ caller, requestId, work, sender: senderOf(caller), isTextAllowed, hasStorage: false },
    })
    const { claims } = describeCaller(caller)
    const message = { type: 'single' as const, claims, request: { id: requestId }, value }
    return await generation.run(call, message, this.limitsOf(description), { signal })
  }

  /** Returns the name and the time limit of a function in seconds. */
  limitsOf(description: Pick<FunctionDescription, 'name' | 'timeout'>): Limits {
    return limitsOf(this.#deps.config, description)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#restart)
    clearTimeout(this.#reload)
    await Promise.all([...this.#generations].map((generation) => generation.stop()))
    this.#log.flush()
  }

  #start(code: Code): Generation {
    const generation: Generation = new Generation({
      ...{ deps: this.#deps, code, log: this.#log, checks: this.#checks },
      countStreams: () => [...this.#generations].reduce((sum, { streamCount }) => sum + streamCount, 0),
      onCallEnd: () => {
        // The process of the deploy works.
        if (code.deploy !== undefined) this.#earlierFailures.delete(code.deploy)
      },
      onEnd: (reason) => this.#ended(generation, reason),
    })
    this.#generations.add(generation)
    return generation
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

  #ended(generation: Generation, reason: string): void {
    this.#generations.delete(generation)
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
}
