import { arrayLiteral } from '../array-literal.ts'
import { type Call, type Statement, statement } from '../connection/message.ts'
import { anonymousRole, type CallerScope, callerRole, type Origin } from './caller-scope.ts'
import { propagateSettings, setLocally } from './literal-settings.ts'

type Settings = Readonly<Record<string, string>>

/**
 * Setting that holds the origin for the log of changes and the audit. It is a single one, because each setting
 * costs a write as much as all of them.
 */
const originVariable = 'basalt.origin'

/**
 * Way in which role and claims reach the transaction:
 * - `parameters`: one statement with parameters. It needs no transaction block.
 * - `literals`: `set local` with quoted values, in a transaction block. A distributed engine repeats only such
 *   statements on its workers (see docs/decisions/0058-distributed-tables.md).
 */
export type ContextDialect = 'parameters' | 'literals'

export interface ContextOptions {
  readonly dialect: ContextDialect
  /** Settings of each transaction; empty where the connection has them. */
  readonly transactionSettings: Settings
  /** Settings that the sessions of workers need, too; used by the dialect `literals`. */
  readonly workerSettings: Settings
}

/** First calls of a caller's transaction, which set the role and the claims. */
export class CallerContexts {
  readonly #caller: Context
  readonly #anonymous: Context
  readonly #unrestricted: Context
  readonly #dialect: ContextDialect
  /** Calls for the settings of every worker session; empty in the dialect `parameters`. */
  readonly #workerSettings: readonly Call[]

  constructor({ dialect, transactionSettings, workerSettings }: ContextOptions) {
    const isDistributed = dialect === 'literals'
    const fixed = { ...(isDistributed ? propagateSettings : {}), ...transactionSettings }
    const variables = isDistributed ? [] : callerVariables
    this.#dialect = dialect
    this.#workerSettings = isDistributed ? Object.entries(workerSettings).map(setLocally) : []
    // Workers are reached as the current role, so this setting need not be repeated there.
    this.#caller = createContext({ role: callerRole, ...fixed }, variables)
    this.#anonymous = createContext({ role: anonymousRole, ...fixed }, variables)
    // Where the login role cannot bypass a policy, the statement fails instead of silently returning fewer
    // rows.
    this.#unrestricted = createContext({ row_security: 'off', ...fixed }, [])
  }

  /**
   * Returns the first calls of the caller's transaction.
   *
   * @param check of the sizes for which plans are kept
   * @throws AppError when a claim cannot be a value of PostgreSQL
   */
  callsFor(scope: CallerScope, origin?: Origin, check?: SizeCheck): readonly Call[] {
    const claims = claimsOf(scope)
    if (this.#dialect === 'parameters') return [this.#callFor(scope, claims, origin, check)]
    const names = claims.length === 0 ? ['row_security'] : callerVariables
    const values = claims.length === 0 ? ['off'] : claims
    return [
      this.#callFor(scope, [], origin, check),
      ...this.#workerSettings,
      ...names.map((name, index) => setLocally([name, values[index] ?? ''])),
    ]
  }

  /** True if each worker of a distributed database has to get the context. */
  get isDistributed(): boolean {
    return this.#dialect === 'literals'
  }

  /**
   * Returns the call that replaces the whole context of a transaction by that of the scope. It is for a login that may be each of
   * them.
   */
  switchTo(scope: CallerScope, origin: Origin | undefined): Call {
    const { role = 'none', settings } = describeContext(scope)
    return {
      statement: replaceContext,
      values: [
        role,
        scope.kind === 'unrestricted' ? 'off' : 'on',
        ...callerVariables.map((name) => settings[name] ?? ''),
        origin === undefined ? '' : describeOrigin(scope, origin),
      ],
    }
  }

  /** Returns the call that refuses writes in the rest of the transaction. */
  get refuseWrites(): Call {
    return this.#dialect === 'parameters' ? refuseWrites : setLocally(['transaction_read_only', 'on'])
  }

  #callFor(scope: CallerScope, claims: readonly string[], origin?: Origin, check?: SizeCheck): Call {
    const { plain, withOrigin, checked, checkedWithOrigin } = this.#statementsOf(scope)
    if (check === undefined) {
      if (origin === undefined) return { statement: plain, values: claims }
      return { statement: withOrigin, values: [...claims, describeOrigin(scope, origin)] }
    }
    const sizes = [arrayLiteral(check.relations), arrayLiteral(check.sizes)]
    if (origin === undefined) return { statement: checked, values: [...claims, ...sizes] }
    return { statement: checkedWithOrigin, values: [...claims, describeOrigin(scope, origin), ...sizes] }
  }

  #statementsOf({ kind }: CallerScope): Context {
    if (kind === 'caller') return this.#caller
    return kind === 'anonymous' ? this.#anonymous : this.#unrestricted
  }
}

const refuseWrites: Call = {
  statement: statement("select set_config('transaction_read_only', 'on', true)"),
  values: [],
}

/** Variants of the first statement in a caller's transaction. */
interface Context {
  readonly plain: Statement
  readonly withOrigin: Statement
  readonly checked: Statement
  readonly checkedWithOrigin: Statement
}

/** Relations by object id, and the sizes for which the plans of a message are kept. */
export interface SizeCheck {
  readonly relations: readonly string[]
  readonly sizes: readonly string[]
}

function createContext(fixed: Settings, variables: readonly string[]): Context {
  const settings = Object.entries(fixed).map(([name, value]) => `set_config('${name}', '${value}', true)`)
  const selecting = (names: readonly string[], isChecked = false) => {
    const items = [...settings, ...names.map((name, index) => `set_config('${name}', $${index + 1}, true)`)]
    if (isChecked) {
      items.push(`basalt.check_size_classes($${names.length + 1}, $${names.length + 2})`)
    }
    return statement(`select ${items.join(', ')}`)
  }
  return {
    plain: selecting(variables),
    withOrigin: selecting([...variables, originVariable]),
    checked: selecting(variables, true),
    checkedWithOrigin: selecting([...variables, originVariable], true),
  }
}

/** Formats the origin as the column `origin` of `basalt.outbox` and the triggers of `basalt.audit` read it. */
export function describeOrigin(
  scope: CallerScope,
  { actor, keyId, requestId, appId, address, userId, detail }: Origin,
): string {
  const user = scope.kind === 'caller' ? scope.userId : (userId ?? null)
  const members = [actor, user, keyId || null, requestId, appId || null, address || null]
  return JSON.stringify(detail === undefined ? members : [...members, detail])
}

function claimsOf(scope: CallerScope): string[] {
  if (scope.kind === 'unrestricted') return []
  if (scope.kind === 'anonymous') return callerVariables.map(() => '')
  const { userId, email, isEmailVerified, aal, isAnonymous, sessionId, customClaims = '' } = scope
  return [userId, email, String(isEmailVerified), aal, String(isAnonymous), sessionId, customClaims]
}

/** Settings with the claims that policies read, in the order of {@link claimsOf}. */
const callerVariables = [
  'basalt.user_id',
  'basalt.user_email',
  'basalt.email_verified',
  'basalt.aal',
  'basalt.is_anonymous',
  'basalt.session_id',
  'basalt.custom_claims',
]

const replaceContext = statement(
  `select ${['role', 'row_security', ...callerVariables, originVariable]
    .map((name, index) => `set_config('${name}', $${index + 1}, true)`)
    .join(', ')}`,
)

/**
 * Returns the role, undefined for the login role, and the settings that policies see in the caller's
 * transaction.
 */
export function describeContext(scope: CallerScope): {
  readonly role: string | undefined
  readonly settings: Settings
} {
  const roles = { caller: callerRole, anonymous: anonymousRole, unrestricted: undefined }
  const claims = claimsOf(scope)
  return {
    role: roles[scope.kind],
    settings: Object.fromEntries(claims.map((value, index) => [callerVariables[index] ?? '', value])),
  }
}
