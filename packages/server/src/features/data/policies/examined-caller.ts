import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { Gate } from './gates/gate.ts'
import type { CallerReference } from './schemas.ts'

/** Caller whose access is explained. */
export interface ExaminedCaller {
  readonly as: CallerReference
  /** Label for sentences: `ada@example.com`. */
  readonly label: string
  readonly scope: Exclude<CallerScope, { kind: 'unrestricted' }>
  /** Identity; undefined for requests without a token. */
  readonly identity: UserIdentity | undefined
  /** Gates between the caller and any table. */
  readonly gates: readonly Gate[]
}

/** Port to the accounts, keys and clients. */
export interface Callers {
  /** @throws AppError invalid_caller, caller_not_found */
  find(as: CallerReference): Promise<ExaminedCaller>
  /** Lists a request without a token and some users, those with the most recently used sessions. */
  sample(): Promise<CallerReference[]>
}

/** Returns the scope and tables that a policy case needs to act as the caller; undefined without a grant. */
export function grantOf({ scope }: ExaminedCaller) {
  if (scope.kind !== 'caller' || scope.grant === undefined) return undefined
  const { mayWrite, tables } = scope.grant
  const scopeName = mayWrite ? ('readwrite' as const) : ('readonly' as const)
  return { scope: scopeName, ...(tables === undefined ? {} : { tables: [...tables] }) }
}
