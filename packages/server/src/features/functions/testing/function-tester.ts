import { randomUUID } from 'node:crypto'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { tokenRequired } from '../../../http/access/grants.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'
import { isObject } from '../../../lib/json.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { Caller } from '../../data/collections/index.ts'
import { findUserScope } from '../../data/view-as/index.ts'
import {
  type Addition,
  addressOf,
  type BeforeDescription,
  type CallWork,
  type DataRequest,
  describeCaller,
  type FetchStub,
  type FunctionDescription,
  type FunctionHost,
  inboundCaller,
  jobCaller,
  type ReplyMessage,
  type RouteDescription,
  requireParams,
  runtimeErrors,
  type SqlRequest,
  StreamedResponse,
} from '../runtime/index.ts'
import { type FunctionReference, findFunction } from './find-function.ts'
import { TestTransaction } from './test-transaction.ts'

/** Call of a function by a test. Which members count depends on the kind of the function. */
export interface TestCall {
  readonly function: FunctionReference
  /** `anonymous`, `admin`, or the id or address of a user. */
  readonly as?: string | undefined
  readonly input?: unknown
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly payload?: object | undefined
  readonly attempt?: number | undefined
  readonly change?: object | undefined
  /** Message of another service, with a body in base64. */
  readonly message?: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | undefined
  /** Server that receives the requests of `ctx.fetch`; without it they fail. */
  readonly fetch?: FetchStub | undefined
}

/** Response that a function has made itself. */
interface TestResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Base64; undefined for none. */
  readonly body: string | undefined
}

export interface TestOutcome {
  /** Result of the function as JSON; undefined for none. */
  readonly value?: string | undefined
  readonly response?: TestResponse
  readonly additions: readonly Addition[]
}

export interface NewTestUser {
  readonly id?: string | undefined
  readonly email?: string | undefined
  readonly isEmailVerified?: boolean | undefined
}

export interface TesterDeps {
  readonly host: FunctionHost
  readonly database: Pick<Database, 'system' | 'share'>
  /** Servers that receive the requests of functions, by the id of the call. */
  readonly stubs: Map<string, FetchStub>
}

/** Maximum number of bytes of a response that a function has made itself. */
const responseLimit = 16 * 1024 * 1024

type Work = Pick<TestCall, 'as' | 'fetch'> & { readonly requestId: string }

/** Tests of functions on a database of their own. Each call is one of the server, in a transaction that is never committed. */
export class FunctionTester {
  readonly #deps: TesterDeps
  readonly #transactions = new Map<number, TestTransaction>()
  #begun = 0

  constructor(deps: TesterDeps) {
    this.#deps = deps
  }

  /** Begins a transaction, and returns its number. */
  async begin(): Promise<number> {
    const { transaction, cancel } = await this.#deps.database.share()
    this.#begun += 1
    this.#transactions.set(this.#begun, new TestTransaction(transaction, cancel))
    return this.#begun
  }

  /** Rolls a transaction back. */
  async end(number: number): Promise<void> {
    const transaction = this.#transactions.get(number)
    this.#transactions.delete(number)
    await transaction?.end()
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#transactions.keys()].map((number) => this.end(number)))
  }

  /**
   * Calls a function in a transaction.
   *
   * @param requestId id of the call in the log
   * @throws AppError
   */
  async call(number: number, call: TestCall, requestId: string): Promise<TestOutcome> {
    const { host, stubs } = this.#deps
    const transaction = this.#find(number)
    const description = findFunction(host.functions, call.function)
    if (call.fetch !== undefined) stubs.set(requestId, call.fetch)
    try {
      const caller = await this.#callerOf(description, call, requestId)
      const { outcome, additions } = await transaction.run(caller, async (work, noted) => ({
        outcome: await this.#run(description, call, { caller, requestId, work, signal: transaction.signal }),
        additions: noted,
      }))
      return outcome instanceof StreamedResponse
        ? { response: await readResponse(outcome), additions }
        : { value: outcome, additions }
    } finally {
      stubs.delete(requestId)
    }
  }

  /** Sends a request for data in a transaction. @throws AppError */
  async data(number: number, message: DataRequest | SqlRequest, work: Work): Promise<ReplyMessage> {
    const { host, stubs } = this.#deps
    const transaction = this.#find(number)
    const { requestId, fetch } = work
    if (fetch !== undefined) stubs.set(requestId, fetch)
    try {
      const caller = await this.#findCaller(work)
      return await transaction.run(caller, (own) => host.openData(caller, requestId, own).handle(message))
    } finally {
      stubs.delete(requestId)
    }
  }

  /** Creates a user, outside of the transactions. @returns the id @throws AppError */
  async createUser({ id = randomUUID(), email, isEmailVerified = true }: NewTestUser): Promise<string> {
    if (!isUuid(id)) throw runtimeErrors.invalidInvocation('id: expected a UUID')
    const created = await this.#deps.database.system.count(sql`
      insert into basalt.users (id, email, email_verified_at)
      values (${id}, ${email ?? null}, case when ${isEmailVerified} then now() end)
      on conflict do nothing`)
    if (created === 0) throw runtimeErrors.invalidInvocation(`there is a user ${email ?? id}`)
    return id
  }

  #find(number: number): TestTransaction {
    const transaction = this.#transactions.get(number)
    if (transaction === undefined) throw runtimeErrors.transactionEnded()
    return transaction
  }

  /** Returns the caller of a function, which some kinds determine. @throws AppError */
  async #callerOf(description: FunctionDescription, call: TestCall, requestId: string): Promise<Caller> {
    switch (description.kind) {
      case 'job':
      case 'schedule':
      case 'after':
      case 'onSignUp':
      case 'claims':
      case 'sendMail':
        return jobCaller(requestId)
      case 'inbound':
        return inboundCaller(description, requestId, () => '')
      case 'before':
        throw hookNotCallable(description)
      case 'route': {
        const caller = await this.#findCaller({ as: call.as, requestId })
        requireAccess(description, caller)
        return caller
      }
    }
  }

  /** @throws AppError invalid_invocation */
  async #findCaller({ as = 'anonymous', requestId }: Work): Promise<Caller> {
    const origin = (actor: string) => () => ({ actor, requestId, appId: '', keyId: '', address: '' })
    const common = { isAbandoned: () => false, isAdministrator: as === 'admin' }
    if (as === 'anonymous') return { ...common, scope: { kind: 'anonymous' }, origin: origin('anonymous') }
    if (as === 'admin') return { ...common, scope: { kind: 'unrestricted' }, origin: origin('admin') }
    const { system } = this.#deps.database
    const { id } = isUuid(as)
      ? { id: as }
      : ((await system.maybeOne<{ id: string }>(
          sql`select id::text from basalt.users where lower(email) = lower(${as})`,
        )) ?? {})
    const scope = id === undefined ? undefined : await findUserScope(system, id)
    if (scope === undefined)
      throw runtimeErrors.invalidInvocation(`as: there is no user ${as}: create one by createUser`)
    return { ...common, scope, origin: origin('user') }
  }

  async #run(
    description: FunctionDescription,
    call: TestCall,
    terms: {
      readonly caller: Caller
      readonly requestId: string
      readonly work: CallWork
      readonly signal: AbortSignal
    },
  ): Promise<string | undefined | StreamedResponse> {
    const { host } = this.#deps
    const { caller, requestId, work, signal } = terms
    switch (description.kind) {
      case 'route': {
        const { params = {}, headers = {}, input } = call
        requireParams(description, params)
        const { method } = description
        const message = {
          ...describeCaller(caller),
          request: { id: requestId, method, url: addressOf(description, params), headers },
          ...{ params, input },
        }
        return await host.call(description, caller, message, { requestId, signal, work })
      }
      case 'onSignUp':
      case 'claims':
      case 'sendMail': {
        const { kind } = description
        if (!isObject(call.input))
          throw runtimeErrors.invalidInvocation(`input: expected the value that ${kind} gets`)
        const isTextAllowed = kind === 'sendMail'
        return await host.callSingle(kind, {
          caller,
          requestId,
          work,
          value: call.input,
          isTextAllowed,
          signal,
        })
      }
      case 'job':
      case 'schedule': {
        const type = description.kind === 'job' ? description.job : `function:${description.name}`
        const payload = call.payload ?? {}
        const problem = host.findPayloadProblem(type, payload)
        if (problem !== undefined) throw runtimeErrors.invalidInput(problem)
        const run = { id: requestId, attempt: call.attempt ?? 1, signal, queuedBy: undefined }
        await host.runJob(type, payload, run, work)
        return undefined
      }
      case 'after': {
        const run = { eventId: requestId, requestId, attempt: call.attempt ?? 1, userId: undefined, signal }
        if (call.change === undefined)
          throw runtimeErrors.invalidInvocation('change: expected the operation and the record')
        const { operation, record, previous } = Object(call.change)
        const body = JSON.stringify({ action: operation, record, oldRecord: previous })
        await host.runAfter(description, { ...run, body, onLog: () => {} }, work)
        return undefined
      }
      case 'inbound': {
        if (call.message === undefined)
          throw runtimeErrors.invalidInvocation('message: expected the headers and the body')
        const { headers, body } = call.message
        const arrived = { url: `/api/functions/inbound/${description.inbound}`, headers, body }
        const delivery = { requestId, signal, isAbandoned: () => false, address: () => '' }
        return await host.receive(description.inbound, arrived, delivery, work)
      }
      case 'before':
        throw hookNotCallable(description)
    }
  }
}

/** Reads a response to its end. @throws AppError invalid_invocation for a longer one, and the error that has cut it */
async function readResponse({ head, body }: StreamedResponse): Promise<TestResponse> {
  const { status, headers } = head
  if (body === undefined) return { status, headers, body: undefined }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > responseLimit)
      throw runtimeErrors.invalidInvocation(`a test reads at most ${responseLimit} bytes of a response`)
  }
  return { status, headers, body: Buffer.concat(chunks).toString('base64') }
}

/** @throws AppError admin_required, missing_authorization */
function requireAccess({ access }: RouteDescription, { scope }: Caller): void {
  if (access === 'admin' && scope.kind !== 'unrestricted') throw httpErrors.adminRequired()
  if (access === 'user' && scope.kind === 'anonymous') throw tokenRequired()
}

function hookNotCallable({ name, table }: BeforeDescription): AppError {
  return runtimeErrors.invalidInvocation(`${name} runs before writes of ${table}: write a record by db`)
}
