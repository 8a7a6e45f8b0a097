import type { CallerScope } from '../../database/caller/caller-scope.ts'

/** Who makes a request. Derived once, by the kind of token, before anything else happens. */
export type Identity = UserIdentity | AdminIdentity | OpenIdentity | AnonymousIdentity

/** The app of requests that belong to no other: those of people, of administrators, and of keys without an app. */
export const defaultAppId = '00000000-0000-0000-0000-000000000000'

/** What the request is counted for. */
export interface Attribution {
  readonly appId: string
  /** Undefined when the caller presented no API key. */
  readonly keyId: string | undefined
}

/** A request without an API key. */
export const unattributed: Attribution = { appId: defaultAppId, keyId: undefined }

/** So many requests of an app per window, over all nodes. */
export interface AppLimit {
  readonly requests: number
  readonly windowSeconds: number
}

export interface UserIdentity extends Attribution {
  readonly kind: 'user'
  readonly userId: string
  /** Empty when the user has none. */
  readonly email: string
  /** Undefined for tokens that no session stands behind. */
  readonly sessionId: string | undefined
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
  readonly isAnonymous: boolean
  /** When the token was made, in seconds since 1970; undefined when it does not say. */
  readonly issuedAt: number | undefined
  /** What the policies see of the caller. A caller who is a program has a grant in it. */
  readonly scope: Extract<CallerScope, { kind: 'caller' }>
  /** The client of the OAuth server that the token was issued to. */
  readonly clientId?: string
  /** The grant that the token was issued for. */
  readonly grantId?: string
  /** The administrator who acts as the user; undefined when it is the user. */
  readonly impersonator?: string
  /** Undefined when the requests of its app are not limited. */
  readonly appLimit?: AppLimit | undefined
}

/** A caller whose first factor has passed and whose second one is due. */
export interface PendingIdentity {
  readonly userId: string
  /** Empty when the user has none. */
  readonly email: string
  /** The sign-in that waits to be completed. */
  readonly pendingId: string
}

export interface AdminIdentity extends Attribution {
  readonly kind: 'admin'
  readonly sessionId: string
  readonly scope: CallerScope
}

/** Everybody, while `auth.enabled` is false. */
export interface OpenIdentity extends Attribution {
  readonly kind: 'open'
  readonly scope: CallerScope
}

/** A request without a token, where the operator has granted something to those. */
export interface AnonymousIdentity extends Attribution {
  readonly kind: 'anonymous'
  readonly scope: CallerScope
}

/** What a bearer token turned out to be. */
export type Verdict =
  | { readonly identity: Identity }
  | { readonly refusal: 'invalid' }
  /** Without the sign-in when it no longer waits. */
  | { readonly refusal: 'pending'; readonly pending: PendingIdentity | undefined }

/** Recognizes the tokens of one kind; features provide one each. */
export interface TokenVerifier {
  /** Whether the token is of this kind, by its form alone. */
  recognizes(token: string): boolean
  /** Answers at once where it can: this is on the path of every request. */
  verify(token: string): Verdict | Promise<Verdict>
}

export const anonymousIdentity: AnonymousIdentity = {
  kind: 'anonymous',
  scope: { kind: 'anonymous' },
  ...unattributed,
}

/** Without auth the data is open and runs without policies. */
export const openIdentity: OpenIdentity = {
  kind: 'open',
  scope: { kind: 'unrestricted' },
  ...unattributed,
}
