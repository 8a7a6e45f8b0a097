/** Role of every caller with a token. */
export const callerRole = 'basalt_authenticated'

/** Role of every request without a token. It has only the privileges that the operator has granted to it. */
export const anonymousRole = 'basalt_anonymous'

/** Access of a program to the data of the user for whom it acts. */
export interface Grant {
  /** Credential of the program, as error messages call it. */
  readonly credential: 'api key' | 'access token'
  readonly mayWrite: boolean
  /** Collections that the program may access; undefined for all. */
  readonly tables: ReadonlySet<string> | undefined
  /**
   * Actions that the program may take beside data access, such as sending mail. `http/access/actions.ts` lists
   * them.
   */
  readonly actions: ReadonlySet<string>
}

/** Caller for whom data is read and written. */
export type CallerScope =
  /** Caller with a token: policies apply, and see these claims. */
  | {
      readonly kind: 'caller'
      readonly userId: string
      readonly email: string
      readonly isEmailVerified: boolean
      readonly aal: string
      readonly isAnonymous: boolean
      readonly sessionId: string
      /** JSON of the claims that a function has added to the token; undefined without any. */
      readonly customClaims?: string
      /** Undefined for people. */
      readonly grant?: Grant
    }
  /** Request without a token: policies apply, and see no claims. */
  | { readonly kind: 'anonymous' }
  /**
   * The administrator, or any caller while auth is off. It works without policies, as the role that
   * administrators log in as.
   */
  | {
      readonly kind: 'unrestricted'
      /** True for an administrator whose role may not write rows. */
      readonly isReadOnly?: boolean
      /** True for an administrator whose role may not read personal columns. */
      readonly hidesPersonal?: boolean
    }

/** Request that a write belongs to, for the log of changes and the audit of its tables. */
export interface Origin {
  /** `user`, `admin`, `anonymous`, `open`, `job`, `inbound`, `admin as user` or `function as admin`. */
  readonly actor: string
  readonly requestId: string
  readonly appId: string
  /** Empty without an API key. */
  readonly keyId: string
  readonly address: string
  /** User on whose behalf an administrator's write is made. */
  readonly userId?: string | undefined
  /** Details for the audit of the rows. */
  readonly detail?: Readonly<Record<string, string>>
}
