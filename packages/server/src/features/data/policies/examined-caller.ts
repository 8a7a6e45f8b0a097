import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { Gate } from './gates/gate.ts'
import type { CallerReference } from './schemas.ts'

/** Caller whose access is explained. */
export interface ExaminedCaller {
  readonly as: CallerReference
  /** For sentences: `ada@example.com`. */
  readonly label: string
  readonly scope: Exclude<CallerScope, { kind: 'unrestricted' }>
  /** Undefined for requests without a token. */
  readonly identity: UserIdentity | undefined
  /** Checks that stand between the caller and any table. */
  readonly gates: readonly Gate[]
}

/** Port to the accounts, keys and clients. */
export interface Callers {
  /** @throws AppError invalid_caller, caller_not_found */
  find(as: CallerReference): Promise<ExaminedCaller>
  /** Lists some users, those whose sessions were used last, and a request without a token. */
  sample(): Promise<CallerReference[]>
}

/** Returns the scope and tables that a case of policies needs to act as the caller; undefined without a grant. */
export function grantOf({ scope }: ExaminedCaller) {
  if (scope.kind !== 'caller' || scope.grant === undefined) return undefined
  const { mayWrite, tables } = scope.grant
  const scopeName = mayWrite ? ('readwrite' as const) : ('readonly' as const)
  return { scope: scopeName, ...(tables === undefined ? {} : { tables: [...tables] }) }
}
