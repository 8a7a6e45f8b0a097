import { arrayLiteral } from '../array-literal.ts'
import { type Call, type Statement, statement } from '../connection/message.ts'
import { anonymousRole, type CallerScope, callerRole, type Origin } from './caller-scope.ts'

type Settings = Readonly<Record<string, string>>

/** What the log of changes and the audit keep of an origin: one setting, as each costs a write as much as all of them. */
const originVariable = 'basalt.origin'

/** What a transaction begins with: the role and claims of its caller, as one call. */
export class CallerContexts {
  readonly #caller: Context
  readonly #anonymous: Context
  readonly #unrestricted: Context

  /** @param sessionSettings settings each transaction makes for itself; empty where the connection carries them. */
  constructor(sessionSettings: Settings) {
    this.#caller = createContext({ role: callerRole, ...sessionSettings }, callerVariables)
    this.#anonymous = createContext({ role: anonymousRole, ...sessionSettings }, callerVariables)
    // Where the login role cannot bypass a policy the statement fails instead of silently seeing less.
    this.#unrestricted = createContext({ row_security: 'off', ...sessionSettings }, [])
  }

  /** @param check of the sizes for which plans are kept */
  callFor(scope: CallerScope, origin?: Origin, check?: SizeCheck): Call {
    const { plain, withOrigin, checked, checkedWithOrigin } = this.#statementsOf(scope)
    const claims = claimsOf(scope)
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

/** The statement that a transaction of a caller begins with. */
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

/** As the column `origin` of `basalt.outbox` and the triggers of `basalt.audit` read it. */
function describeOrigin(scope: CallerScope, { actor, keyId, requestId, appId, address }: Origin): string {
  const userId = scope.kind === 'caller' ? scope.userId : null
  return JSON.stringify([actor, userId, keyId || null, requestId, appId, address || null])
}

function claimsOf(scope: CallerScope): string[] {
  if (scope.kind === 'unrestricted') return []
  if (scope.kind === 'anonymous') return callerVariables.map(() => '')
  const { userId, email, isEmailVerified, aal, isAnonymous, sessionId } = scope
  return [userId, email, String(isEmailVerified), aal, String(isAnonymous), sessionId]
}

/** The claims that policies read, in the order of {@link claimsOf}. */
const callerVariables = [
  'basalt.user_id',
  'basalt.user_email',
  'basalt.email_verified',
  'basalt.aal',
  'basalt.is_anonymous',
  'basalt.session_id',
]

/** What a transaction of the caller begins with: the role, undefined for the login role, and what policies see. */
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
