/** The role every caller with a token works as. */
export const callerRole = 'basalt_authenticated'

/** The role of every request without a token. It may do nothing that the operator has not granted to it. */
export const anonymousRole = 'basalt_anonymous'

/** What a program may do with the data of the user it acts for. */
export interface Grant {
  /** What the program presents, as refusals call it. */
  readonly credential: 'api key' | 'access token'
  readonly mayWrite: boolean
  /** Collections it may touch; undefined: all. */
  readonly tables: ReadonlySet<string> | undefined
  /** What it may do beside that, such as sending mail; of the actions that `http/access/actions.ts` lists. */
  readonly actions: ReadonlySet<string>
}

/** On whose behalf data is read and written. */
export type CallerScope =
  /** A caller with a token: policies apply, and see these claims. */
  | {
      readonly kind: 'caller'
      readonly userId: string
      readonly email: string
      readonly isEmailVerified: boolean
      readonly aal: string
      readonly isAnonymous: boolean
      readonly sessionId: string
      /** Undefined for people. */
      readonly grant?: Grant
    }
  /** A request without a token: policies apply, and see no claims. */
  | { readonly kind: 'anonymous' }
  /** The administrator, or any caller while auth is off: the role that administrators log in as, without policies. */
  | { readonly kind: 'unrestricted' }

/** Which request a write belongs to, for the log of changes and the record of those in audited tables. */
export interface Origin {
  /** `user`, `admin`, `anonymous`, `open` or `admin as user`. */
  readonly actor: string
  readonly requestId: string
  readonly appId: string
  /** Empty without one. */
  readonly keyId: string
  readonly address: string
}
