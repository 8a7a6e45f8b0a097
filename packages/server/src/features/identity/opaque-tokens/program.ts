import type { UserIdentity } from '../../../http/access/identity.ts'
import type { OpenedToken } from './lookups.ts'

export type Scope = '*' | 'readonly' | 'readwrite'

/** Access that an opaque token grants, as the lookup statement returns it. */
export interface OpenedProgram extends OpenedToken {
  /** Null for a program that acts for itself. */
  readonly user_id: string | null
  readonly app_id: string
  readonly scope: Scope
  readonly allowed_tables: readonly string[]
  /** Actions that the program may perform in addition. See `http/access/actions.ts`. */
  readonly actions: readonly string[]
  /** Milliseconds left, by the database clock. Null if it does not expire. */
  readonly expires_in_ms: number | null
  readonly email: string | null
  readonly is_email_verified: boolean
  readonly is_anonymous: boolean
  /** Requests per window. 0 means no limit. */
  readonly rate_limit: number
  readonly rate_limit_window_seconds: number
  readonly [column: string]: unknown
}

/** Describes a program as its user at aal1. @param keyId of the API key, if the program uses one */
export function describeProgram(program: OpenedProgram, keyId?: string): UserIdentity {
  const { app_id: appId, scope, allowed_tables: tables } = program
  const userId = program.user_id ?? ''
  const email = program.email ?? ''
  return {
    kind: 'user',
    appId,
    keyId,
    userId,
    email,
    sessionId: undefined,
    aal: 'aal1',
    amr: [],
    isAnonymous: program.is_anonymous,
    issuedAt: undefined,
    scope: {
      kind: 'caller',
      userId,
      email,
      isEmailVerified: program.is_email_verified,
      aal: 'aal1',
      isAnonymous: program.is_anonymous,
      sessionId: '',
      grant: {
        credential: keyId === undefined ? 'access token' : 'api key',
        mayWrite: scope !== 'readonly',
        tables: tables.length === 0 ? undefined : new Set(tables),
        actions: new Set(program.actions),
      },
    },
    appLimit:
      program.rate_limit === 0
        ? undefined
        : { requests: program.rate_limit, windowSeconds: program.rate_limit_window_seconds },
  }
}
