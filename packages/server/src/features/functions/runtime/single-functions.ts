import { administratorSteps } from '../../../database/administrator-steps.ts'
import type { SystemDatabase, SystemTransaction } from '../../../database/system-database.ts'
import type { AppError } from '../../../lib/errors.ts'
import { isObject, type JsonObject, parseJson } from '../../../lib/json.ts'
import { isStorableJson } from '../../../lib/storable-text.ts'
import type { Caller } from '../../data/collections/index.ts'
import { FunctionFailure } from './calls.ts'
import { runtimeErrors } from './errors.ts'
import type { FunctionHost } from './host.ts'
import { jobCaller } from './jobs.ts'
import type { SingleKind } from './single-kinds.ts'
import type { SlotSource } from './slots.ts'
import { CallTransaction, nestedWork, Statements, sourceOf, type TransactionDeps } from './transaction.ts'

/** Maximum number of bytes of the claims of a function, as JSON. */
const claimsLimit = 1024
/** Maximum wait of a sign-up or sign-in for a connection. */
const longestWaitMs = 5000
/** Claims of the server and of JWTs (RFC 7519 §4.1), which no function may set. */
const reservedClaims: ReadonlySet<string> = new Set([
  ...['sub', 'email', 'email_verified', 'sid', 'aal', 'amr', 'is_anonymous', 'jti', 'act', 'mfa_pending'],
  ...['iat', 'exp', 'nbf', 'iss', 'aud', 'custom_claims'],
])

/** Kind of function that takes part in sign-ups and sign-ins. */
type AccountKind = 'onSignUp' | 'claims'

interface KnownAccount {
  readonly id: string
}

interface NewAccount extends KnownAccount {
  readonly wasAnonymous: boolean
}

/** Claims that were computed before the transaction of a sign-in. */
interface KnownClaims {
  readonly userId: string
  readonly claims: JsonObject | undefined
}

interface SignIn {
  readonly known: KnownClaims | undefined
  /** True if the claims depend on rows of the transaction. */
  isSignUp: boolean
}

/** Thrown in the transaction of a sign-in to roll it back, until the claims of its user are known. */
class ClaimsRequired extends Error {
  readonly account: KnownAccount
  readonly requestId: string

  constructor(account: KnownAccount, requestId: string) {
    super('the claims of the user are not known yet')
    this.account = account
    this.requestId = requestId
  }
}

export interface SingleFunctionDeps {
  readonly host: () => Pick<FunctionHost, 'findSingle' | 'callSingle'>
  readonly database: TransactionDeps['database']
  /** Connections of the system that sign-ups and sign-ins with functions may hold. */
  readonly accountSlots: SlotSource
  readonly jobSlots: SlotSource
}

/** Functions of accounts and of mail. There is at most one of each kind. */
export class SingleFunctions {
  readonly #deps: SingleFunctionDeps
  readonly #signIns = new WeakMap<SystemTransaction, SignIn>()

  constructor(deps: SingleFunctionDeps) {
    this.#deps = deps
  }

  /** Returns true if there is a function of the kind. @throws AppError functions_unavailable while that is unknown */
  has(kind: SingleKind): boolean {
    return this.#deps.host().findSingle(kind) !== undefined
  }

  /**
   * Runs the transaction of a sign-up or sign-in. If a function may take part, it needs one of the connections for accounts.
   *
   * Claims are computed while no lock is held, so that a slow function blocks no other write of the user. A sign-in that needs
   * them is rolled back, and runs again with them.
   *
   * @param kinds of the functions that may take part
   * @throws AppError functions_unavailable, no_connection
   */
  async transaction<Result>(
    database: Pick<SystemDatabase, 'transaction'>,
    work: (transaction: SystemTransaction) => Promise<Result>,
    kinds: readonly AccountKind[] = ['onSignUp', 'claims'],
  ): Promise<Result> {
    if (!kinds.some((kind) => this.has(kind))) return await database.transaction(work)
    return await this.#withSlot(() => this.#runSignIn(database, work))
  }

  async #runSignIn<Result>(
    database: Pick<SystemDatabase, 'transaction'>,
    work: (transaction: SystemTransaction) => Promise<Result>,
    known?: KnownClaims,
  ): Promise<Result> {
    try {
      return await database.transaction(async (transaction) => {
        this.#signIns.set(transaction, { known, isSignUp: false })
        return await work(transaction)
      })
    } catch (error) {
      if (!(error instanceof ClaimsRequired)) throw error
      const { account, requestId } = error
      const claims = await this.#computeAlone(database, account, requestId)
      return await this.#runSignIn(database, work, { userId: account.id, claims })
    }
  }

  /** Runs work that holds one of the connections for accounts. @throws AppError no_connection */
  async #withSlot<Result>(work: () => Promise<Result>): Promise<Result> {
    const { accountSlots: slots } = this.#deps
    const waiting = new AbortController()
    const timer = setTimeout(() => waiting.abort(runtimeErrors.noConnection().retryAfter(1)), longestWaitMs)
    try {
      await slots.acquire('accounts', waiting.signal)
    } finally {
      clearTimeout(timer)
    }
    try {
      return await work()
    } finally {
      slots.release()
    }
  }

  /**
   * Calls `onSignUp` in the transaction that creates the account.
   *
   * @returns the facts about the user that the function sets, undefined for none
   * @throws AppError
   */
  async signUp(
    transaction: SystemTransaction,
    account: NewAccount,
    requestId: string,
  ): Promise<JsonObject | undefined> {
    const signIn = this.#signIns.get(transaction)
    // A new account is visible to this transaction alone, and the function runs under the lock of one that was anonymous.
    if (signIn !== undefined && (!account.wasAnonymous || this.has('onSignUp'))) signIn.isSignUp = true
    const json = await this.#callWithin('onSignUp', transaction, account, requestId)
    const result = json === undefined ? null : parseJson(json)
    if (result === null) return undefined
    const { app_metadata, ...others } = isObject(result) ? result : { others: true }
    if (Object.keys(others).length > 0)
      throw this.fault('onSignUp', 'expected nothing, or an object with the member app_metadata alone')
    if (app_metadata === undefined) return undefined
    if (!isObject(app_metadata) || !isStorableJson(app_metadata))
      throw this.fault('onSignUp', 'app_metadata: expected an object, without the character U+0000')
    return app_metadata
  }

  /**
   * Returns the claims of the function `claims` for an access token. Within a sign-up, the function is called in its transaction.
   * Otherwise it has a transaction of its own.
   *
   * @param database or a transaction of {@link transaction}, which must let its errors pass
   * @returns undefined without such a function
   * @throws AppError
   */
  async claims(
    database: SystemDatabase | SystemTransaction,
    account: KnownAccount,
    requestId: string,
  ): Promise<JsonObject | undefined> {
    if (!this.has('claims')) return undefined
    if ('transaction' in database)
      return await this.#withSlot(() => this.#computeAlone(database, account, requestId))
    const { known, isSignUp = true } = this.#signIns.get(database) ?? {}
    if (isSignUp) return await this.#compute(database, account, requestId)
    if (known?.userId !== account.id) throw new ClaimsRequired(account, requestId)
    return known.claims
  }

  async #computeAlone(
    database: Pick<SystemDatabase, 'transaction'>,
    account: KnownAccount,
    requestId: string,
  ): Promise<JsonObject | undefined> {
    return await database.transaction((transaction) => this.#compute(transaction, account, requestId))
  }

  async #compute(
    transaction: SystemTransaction,
    account: KnownAccount,
    requestId: string,
  ): Promise<JsonObject | undefined> {
    if (!this.has('claims')) return undefined
    const json = await this.#callWithin('claims', transaction, account, requestId)
    const claims = json === undefined ? undefined : parseJson(json)
    if (!isObject(claims) || !isStorableJson(claims))
      throw this.fault('claims', 'expected an object, without the character U+0000')
    const reserved = Object.keys(claims).filter((name) => reservedClaims.has(name))
    if (reserved.length > 0) throw this.fault('claims', `${reserved.join(', ')}: reserved for the server`)
    const size = Buffer.byteLength(JSON.stringify(claims))
    if (size > claimsLimit)
      throw this.fault('claims', `${size} bytes of JSON; expected at most ${claimsLimit}`)
    return claims
  }

  /** Sends a mail by `sendMail`. @returns false without such a function @throws AppError */
  async sendMail(mail: { readonly id: string }): Promise<boolean> {
    const { host, database, jobSlots: slots } = this.#deps
    const description = host().findSingle('sendMail')
    if (description === undefined) return false
    const caller = jobCaller(mail.id)
    const work = new CallTransaction({ database, slots }, caller, { name: description.name })
    await host().callSingle('sendMail', {
      ...{ caller, requestId: mail.id, work, value: mail, isTextAllowed: true },
    })
    return true
  }

  /** Returns the error for a faulty result. The log has the problem. */
  fault(kind: SingleKind, problem: string): AppError {
    const cause = new FunctionFailure(`${kind}: ${problem}`, undefined, kind)
    return runtimeErrors.functionFailed().with({ cause })
  }

  /** Calls a function whose statements run on the connection of the transaction. */
  async #callWithin(
    kind: SingleKind,
    transaction: SystemTransaction,
    value: object,
    requestId: string,
  ): Promise<string | undefined> {
    const { host } = this.#deps
    if (host().findSingle(kind) === undefined) return undefined
    const origin = { actor: 'account', requestId, appId: '', keyId: '', address: '' }
    const caller: Caller = {
      scope: { kind: 'unrestricted' },
      isAdministrator: true,
      isAbandoned: () => false,
      origin: () => origin,
    }
    const steps = administratorSteps(transaction, origin)
    const { source, requireOpen } = sourceOf(steps)
    const work = nestedWork(new Statements(source, caller), (listener) => transaction.onCommit(listener))
    try {
      const json = await host().callSingle(kind, { caller, requestId, work, value, isTextAllowed: false })
      requireOpen()
      return json
    } finally {
      // The connection must not be used by others while a statement of the function runs.
      await steps.end()
    }
  }
}
