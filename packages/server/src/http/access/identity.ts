import type { CallerScope } from '../../database/caller/caller-scope.ts'
import type { AdministratorRole } from './permissions.ts'

/** Caller of a request. It is derived once, by the kind of token, before anything else happens. */
export type Identity = UserIdentity | AdminIdentity | OpenIdentity | AnonymousIdentity

/** App of requests that belong to no other: those of people, of administrators, and of keys without an app. */
export const defaultAppId = '00000000-0000-0000-0000-000000000000'

/** App and key that a request is counted for. */
export interface Attribution {
  readonly appId: string
  /** Undefined when the caller presented no API key. */
  readonly keyId: string | undefined
}

/** Attribution of a request without an API key. */
export const unattributed: Attribution = { appId: defaultAppId, keyId: undefined }

/** Maximum number of an app's requests per window, over all nodes. */
export interface AppLimit {
  readonly requests: number
  readonly windowSeconds: number
}

export interface UserIdentity extends Attribution {
  readonly kind: 'user'
  readonly userId: string
  /** Empty when the user has none. */
  readonly email: string
  /** Undefined for tokens without a session. */
  readonly sessionId: string | undefined
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
  readonly isAnonymous: boolean
  /** Time of issue in seconds since 1970; undefined when the token has none. */
  readonly issuedAt: number | undefined
  /** Caller as the policies see it. A caller that is a program has a grant in it. */
  readonly scope: Extract<CallerScope, { kind: 'caller' }>
  /** OAuth client that the token was issued to. */
  readonly clientId?: string
  /** Grant that the token was issued for. */
  readonly grantId?: string
  /** Administrator who acts as the user; undefined when the user makes the request. */
  readonly impersonator?: string
  /** Undefined when the app's requests are not limited. */
  readonly appLimit?: AppLimit | undefined
}

/** Caller whose first factor has passed and whose second one is due. */
export interface PendingIdentity {
  readonly userId: string
  /** Empty when the user has none. */
  readonly email: string
  /** Id of the sign-in that waits for its second factor. */
  readonly pendingId: string
}

export interface AdminIdentity extends Attribution {
  readonly kind: 'admin'
  readonly sessionId: string
  readonly role: AdministratorRole
  /** Undefined for a session that was created at the command line of the server. */
  readonly administratorId: string | undefined
  /** Address; undefined if the administrator has none. */
  readonly email: string | undefined
  /** Network addresses from which the token may be used; undefined for all. */
  readonly allowedAddresses: readonly string[] | undefined
  readonly secondFactor: AdminSecondFactor
  readonly scope: CallerScope
}

/** Second factor of an administrator, as far as the session has proved it. */
export interface AdminSecondFactor {
  /** True if the administrator has a factor. A session of the command line has no administrator. */
  readonly isEnrolled: boolean
  /** True if the administrator can authenticate again at the provider of `admin.oidc`. */
  readonly hasIdentity: boolean
  /** True if the session proved a factor, or authenticated at the provider, within the last ten minutes, or is a token that needs no proof. */
  readonly isFresh: boolean
  /** True if the session can prove a factor. A token of a program cannot. */
  readonly canProve: boolean
  /** True if the administrator has no factor and `admin.require_second_factor` is set. */
  readonly mustEnroll: boolean
}

/** Caller of every request while `auth.enabled` is false. */
export interface OpenIdentity extends Attribution {
  readonly kind: 'open'
  readonly scope: CallerScope
}

/** Caller without a token, where the operator has granted the anonymous role something. */
export interface AnonymousIdentity extends Attribution {
  readonly kind: 'anonymous'
  readonly scope: CallerScope
}

/** Result of verifying a bearer token. */
export type Verdict =
  | { readonly identity: Identity }
  | { readonly refusal: 'invalid' }
  /** The sign-in is undefined once it no longer waits. */
  | { readonly refusal: 'pending'; readonly pending: PendingIdentity | undefined }

/** Verifier of one kind of tokens; each feature provides its own. */
export interface TokenVerifier {
  /** Returns true if the token is of this kind, by its form alone. */
  recognizes(token: string): boolean
  /** Verifies a token. It is on the path of every request, so it returns without a promise where it can. */
  verify(token: string): Verdict | Promise<Verdict>
  /** Verifies a token without a cache, where the verdict may have changed in the caller's favor. */
  verifyAgain?(token: string): Promise<Verdict>
}

export const anonymousIdentity: AnonymousIdentity = {
  kind: 'anonymous',
  scope: { kind: 'anonymous' },
  ...unattributed,
}

/** Identity while `auth.enabled` is false: the data is open and policies do not apply. */
export const openIdentity: OpenIdentity = {
  kind: 'open',
  scope: { kind: 'unrestricted' },
  ...unattributed,
}
