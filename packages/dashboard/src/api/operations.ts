// Generated from the schemas of the routes by `npm run generate`.

export type AccessChange = {
  readonly role: string
  readonly object: string
  readonly gained: ReadonlyArray<string>
  readonly lost: ReadonlyArray<string>
  readonly rowsBefore: string
  readonly rowsAfter: string
}

export type AccessCompareInput = {
  /** A collection. */
  readonly table: string
  /** Rows by their primary keys, as in the path of a record. */
  readonly ids?: ReadonlyArray<string> | undefined
  /** Rows by a filter, as in a list. Without ids and filter, the first rows. */
  readonly filter?: string | undefined
  /** Maximum number of rows. Default: 50. */
  readonly limit?: number | undefined
  /** Default: `select`. `insert` and `update` examine rows as they are: whether the caller might add such a row, or store it unchanged. */
  readonly action?: 'select' | 'insert' | 'update' | 'delete' | undefined
  /** Default: some users and a request without a token. */
  readonly as?: ReadonlyArray<CallerReference> | undefined
  readonly policy: {
    readonly name: string
    /** Default for a new policy: `SELECT`. */
    readonly command?: 'ALL' | 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | undefined
    /** False for a restrictive policy. Default for a new policy: true. */
    readonly permissive?: boolean | undefined
    /** Roles of the policy. Default for a new policy: `public`, which is every role. */
    readonly roles?: ReadonlyArray<string> | undefined
    readonly using?: string | undefined
    /** Expression of WITH CHECK. */
    readonly check?: string | undefined
    readonly drop?: boolean | undefined
  }
}

export type AccessExplanation = {
  readonly caller: {
    readonly label: string
    readonly kind: string
    readonly role?: string | undefined
    readonly settings: {
      readonly [name: string]: string
    }
    readonly grant: {
      readonly mayWrite: boolean
      /** Tables of the grant; null for all. */
      readonly tables: ReadonlyArray<string> | null
    } | null
  }
  readonly table: {
    readonly collection: string
    readonly schema: string
    readonly name: string
    readonly kind: string
    readonly rlsEnabled: boolean
    readonly primaryKey: ReadonlyArray<string>
  }
  readonly action: 'select' | 'insert' | 'update' | 'delete'
  /** Gates before the policies. */
  readonly gates: ReadonlyArray<{
    readonly name: string
    readonly verdict: 'passes' | 'stops'
    readonly sentence: string
    /** Response of the gate that stops the request before a statement is sent. */
    readonly refusal?: {
      readonly status: number
      readonly error: string
      readonly message: string
    } | undefined
  }>
  /** Tests that PostgreSQL makes, all of which must pass. */
  readonly stages: ReadonlyArray<{
    readonly name: string
    readonly command: string
    readonly clause: 'using' | 'check'
    /** `before`: the row as it is. `after`: the row as the write would make it. */
    readonly row: 'before' | 'after'
  }>
  readonly policies: ReadonlyArray<{
    readonly name: string
    readonly command: 'ALL' | 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
    readonly permissive: boolean
    readonly roles: ReadonlyArray<string>
    readonly using: string | null
    readonly check: string | null
    readonly isForCaller: boolean
    readonly stages: ReadonlyArray<{
      /** Index of a stage. */
      readonly stage: number
      /** Index among its verdicts. */
      readonly place: number
    }>
  }>
  /** Tables that the policies read. */
  readonly reads: ReadonlyArray<{
    readonly policy: string
    readonly schema: string
    readonly name: string
    readonly rlsEnabled: boolean
    /** Rows that are visible to the caller, up to a limit. */
    readonly visible?: number | undefined
    readonly isMore: boolean
    readonly error?: {
      readonly message: string
      readonly sqlState: string
    } | undefined
    readonly sentence: string
  }>
  readonly rows: ReadonlyArray<{
    readonly id?: string | undefined
    readonly shown: {
      readonly [name: string]: string | null
    }
    readonly stages: ReadonlyArray<{
      /** Combined verdict of the policies; absent where there is no row to evaluate. */
      readonly outcome?: boolean | 'error' | undefined
      readonly verdicts: ReadonlyArray<{
        /** Value of an expression for a row. */
        readonly value: boolean | 'error' | null
        /** Message of an error. */
        readonly message?: string | undefined
        readonly sqlState?: string | undefined
      }>
    }>
    /** Combined verdict of the policies; absent where there is no row to evaluate. */
    readonly allowed?: boolean | 'error' | undefined
    /** True if the action happened; absent where something else decided. */
    readonly actual?: boolean | undefined
    readonly answer?: AccessResponse | undefined
    /** True if both agree; absent where one is unknown. */
    readonly agrees?: boolean | undefined
    readonly sentence: string
  }>
  /** True if rows were left out because all together are too large. */
  readonly isCut: boolean
  readonly answer: string
  readonly statement?: {
    readonly text?: string | undefined
    readonly values?: ReadonlyArray<string | null> | undefined
    readonly outcome: AccessResponse
  } | undefined
  readonly plans?: {
    readonly withPolicies: AccessPlan
    readonly withoutPolicies: AccessPlan
  } | undefined
  /** Script that shows the same in psql. */
  readonly psql: string
  /** Effects that are not undone. */
  readonly remains: ReadonlyArray<string>
}

export type AccessPlan = {
  /** Plan as EXPLAIN (FORMAT JSON) returns it. */
  readonly plan?: unknown | undefined
  readonly error?: {
    readonly message: string
    readonly sqlState: string
  } | undefined
}

/** Response of the data API. */
export type AccessResponse = {
  readonly status: number
  readonly error?: string | undefined
  readonly message?: string | undefined
  readonly data?: {
    readonly [name: string]: unknown
  } | undefined
}

export type AccessSaveCaseInput = {
  readonly as: CallerReference
  /** A collection. */
  readonly table: string
  /** Rows by their primary keys, as in the path of a record. */
  readonly ids?: ReadonlyArray<string> | undefined
  /** Rows by a filter, as in a list. Without ids and filter, the first rows. */
  readonly filter?: string | undefined
  /** Maximum number of rows. Default: 1. The first 10 rows are saved. */
  readonly limit?: number | undefined
  /** Default: `select`. */
  readonly action?: 'select' | 'insert' | 'update' | 'delete' | undefined
  /** Record or records of an insert; members that an update changes. */
  readonly values?: {
    readonly [name: string]: unknown
  } | ReadonlyArray<{
    readonly [name: string]: unknown
  }> | undefined
  /** Plan of the statement to include; `analyze` runs it. Default: `none`. */
  readonly plan?: 'none' | 'plan' | 'analyze' | undefined
  /** Reason to view data as a user, which the audit log stores. The role `support` needs one. */
  readonly reason?: string | undefined
  /** Name of the file, without `.toml`: lower-case letters, digits, `-` and `_`. */
  readonly name: string
  /** Expectation of the case. Default: the present outcome. */
  readonly expect?: 'present' | 'allowed' | 'refused' | undefined
  /** True writes the file into the folder `project.policies`. */
  readonly save?: boolean | undefined
}

export type AccessTakeApartInput = {
  readonly as: CallerReference
  /** A collection. */
  readonly table: string
  /** Rows by their primary keys, as in the path of a record. */
  readonly ids?: ReadonlyArray<string> | undefined
  /** Rows by a filter, as in a list. Without ids and filter, the first rows. */
  readonly filter?: string | undefined
  /** Maximum number of rows. Default: 20. Update and delete use the first 10. */
  readonly limit?: number | undefined
  /** Default: `select`. */
  readonly action?: 'select' | 'insert' | 'update' | 'delete' | undefined
  /** Record or records of an insert; members that an update changes. */
  readonly values?: {
    readonly [name: string]: unknown
  } | ReadonlyArray<{
    readonly [name: string]: unknown
  }> | undefined
  /** Plan of the statement to include; `analyze` runs it. Default: `none`. */
  readonly plan?: 'none' | 'plan' | 'analyze' | undefined
  /** Reason to view data as a user, which the audit log stores. The role `support` needs one. */
  readonly reason?: string | undefined
  readonly policy: string
  /** Index among the stages of the explanation. */
  readonly stage: number
}

export type AccountsChangePasswordInput = {
  readonly currentPassword?: string | undefined
  /** At least `auth.min_password_length` characters, by default 8. */
  readonly newPassword: string
}

export type AccountsConfirmMagicLinkInput = {
  /** Token of the link. */
  readonly token: string
}

export type AccountsConfirmMagicLinkResult = Authentication | PendingAuthentication

export type AccountsConfirmPasswordResetInput = {
  /** Token of the link. */
  readonly token: string
  /** At least `auth.min_password_length` characters, by default 8. */
  readonly password: string
}

export type AccountsConfirmSmsCodeInput = {
  /** International form, such as +12025550123. */
  readonly phone: string
  /** Digits. */
  readonly code: string
}

export type AccountsConfirmSmsCodeResult = Authentication | PendingAuthentication

export type AccountsLinkEmailInput = {
  /** One email address. */
  readonly email: string
  /** At least `auth.min_password_length` characters, by default 8. */
  readonly password: string
}

export type AccountsLinkEmailResult = Authentication | UnverifiedAccount

export type AccountsLogInInput = {
  /** One email address. */
  readonly email: string
  /** Password of the account. */
  readonly password: string
}

export type AccountsLogInResult = Authentication | PendingAuthentication

export type AccountsLogOutInput = {
  /** Refresh token from the latest sign-in or refresh of the session. */
  readonly refreshToken: string
}

export type AccountsRefreshInput = {
  /** Refresh token from the latest sign-in or refresh of the session. */
  readonly refreshToken: string
}

export type AccountsRegisterInput = {
  /** One email address. */
  readonly email: string
  /** At least `auth.min_password_length` characters, by default 8. */
  readonly password: string
}

export type AccountsRegisterResult = Authentication | UnverifiedAccount

export type AccountsRequestMagicLinkInput = {
  /** One email address. */
  readonly email: string
}

export type AccountsRequestPasswordResetInput = {
  /** One email address. */
  readonly email: string
}

export type AccountsRequestSmsCodeInput = {
  /** International form, such as +12025550123. */
  readonly phone: string
}

export type AccountsVerifyEmailInput = {
  /** Token of the link. */
  readonly token: string
}

export type AdminCredentials = {
  /** Address. Without it, the first administrator signs in while they are an owner. */
  readonly email?: string | undefined
  readonly password?: string | undefined
  /** Code of a one-time sign-in link. With `mfa_token`: code of the authenticator app, or a backup code. */
  readonly code?: string | undefined
  /** Token of the sign-in that waits for its second factor. */
  readonly mfa_token?: string | undefined
  readonly challenge_id?: string | undefined
  readonly assertion_response?: PasskeyAssertionResponse & unknown | undefined
}

export type AdminSession = {
  readonly expiresAt: string
}

export type AdminSetPreferencesInput = {
  readonly theme?: 'system' | 'light' | 'dark' | undefined
  readonly foldedGroups?: ReadonlyArray<string> | undefined
  readonly lastTable?: string | undefined
}

export type AdminSignInMethodsResult = {
  /** False if passwords, and passkeys without another factor, are refused. */
  readonly password: boolean
  /** OpenID provider of the company: `POST /api/admin/auth/oidc`. null for none. */
  readonly provider: {
    readonly name: string
  } | null
}

export type AdminSignInResult = AdminToken | PendingAdminSession

export type AdminStartSessionResult = AdminSession | PendingAdminSession

export type AdminStatusResult = {
  readonly auth: boolean
}

export type AdminToken = {
  readonly token: string
  readonly expiresAt: string
}

export type AdminUser = User & {
  readonly disabled: boolean
  readonly lastActiveAt: string | null
  readonly hasPassword: boolean
  readonly factors: ReadonlyArray<'totp' | 'email' | 'sms' | 'webauthn'>
  /** Linked sign-in providers. */
  readonly providers: ReadonlyArray<string>
}

export type Administrator = {
  readonly id: string
  /** null for the first administrator without an address. */
  readonly email: string | null
  readonly role: 'owner' | 'developer' | 'support' | 'viewer'
  /** True for the one whom the first start created. */
  readonly isFirst: boolean
  readonly isDisabled: boolean
  /** False until the invitation is accepted. */
  readonly hasPassword: boolean
  readonly hasSecondFactor: boolean
  /** True if bound to an account at the OpenID provider. */
  readonly hasIdentity: boolean
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

export type AdministratorFactors = {
  /** null without an authenticator app. */
  readonly totp: {
    readonly confirmedAt: string
  } | null
  readonly passkeys: ReadonlyArray<AdministratorPasskey>
  /** Number of unused backup codes. */
  readonly backupCodes: number
}

export type AdministratorInvitation = {
  /** Code for `POST /api/admin/auth/password`. It is shown only once. */
  readonly code: string
  /** Page of the dashboard that sets the password; null if the dashboard is not served. */
  readonly url: string | null
  readonly expiresAt: string
}

export type AdministratorPasskey = {
  readonly id: string
  readonly displayName: string
  readonly createdAt: string
  readonly lastUsedAt: string | null
}

export type AdministratorProviderRequest = {
  /** Address of the provider, which the browser opens. */
  readonly url: string
}

export type AdministratorSession = {
  readonly id: string
  /** Name of a token; null for a sign-in. */
  readonly name: string | null
  /** True for a token that needs no fresh second factor. */
  readonly passesStepUp: boolean
  /** null for the role of the administrator. */
  readonly role: 'owner' | 'developer' | 'support' | 'viewer' | null
  /** null for all addresses. */
  readonly allowedAddresses: ReadonlyArray<string> | null
  /** Network address of the sign-in. */
  readonly address: string | null
  readonly userAgent: string | null
  readonly isCurrent: boolean
  readonly createdAt: string
  /** Last use of a token, to the minute. */
  readonly lastUsedAt: string | null
  readonly expiresAt: string
}

export type AdministratorsChangePasswordInput = {
  readonly currentPassword: string
  readonly password: string
}

export type AdministratorsConfirmPasskeyInput = {
  /** Name that the user gave to the passkey. */
  readonly display_name?: string | undefined
  readonly attestation_response: PasskeyAttestationResponse & unknown
}

export type AdministratorsConfirmPasskeyResult = {
  readonly passkey: AdministratorPasskey
  /** Codes that each replace a factor once. They are shown only once. Empty unless this is the first factor. */
  readonly backupCodes: ReadonlyArray<string>
}

export type AdministratorsConfirmTotpInput = {
  /** Code of the authenticator app. */
  readonly code: string
}

export type AdministratorsConfirmTotpResult = {
  /** Codes that each replace a factor once. They are shown only once. Empty unless this is the first factor. */
  readonly backupCodes: ReadonlyArray<string>
}

export type AdministratorsCreateTokenInput = {
  readonly name: string
  /** At most the caller's own role, which is the default. */
  readonly role?: 'owner' | 'developer' | 'support' | 'viewer' | undefined
  readonly expiresInDays: number
  /** True if the token may run operations that require a fresh second factor of its administrator. Default: false. */
  readonly passesStepUp?: boolean | undefined
  /** IP addresses or CIDR ranges. Default: all addresses. */
  readonly allowedAddresses?: ReadonlyArray<string> | undefined
}

export type AdministratorsCreateTokenResult = {
  readonly token: string
  readonly session: AdministratorSession
}

export type AdministratorsEnrollTotpResult = {
  /** URI for a QR code. */
  readonly uri: string
  /** Secret in base32. It is shown only once. */
  readonly secret: string
}

export type AdministratorsForgotPasswordInput = {
  readonly email: string
}

export type AdministratorsInviteInput = {
  /** Address, with which they sign in. */
  readonly email: string
  /** Rights: see the guide "A team". */
  readonly role: 'owner' | 'developer' | 'support' | 'viewer'
}

export type AdministratorsInviteResult = {
  readonly administrator: Administrator
  /** null while `admin.password_sign_in` is off: they sign in with the provider. */
  readonly invitation: AdministratorInvitation | null
}

export type AdministratorsListResult = {
  readonly items: ReadonlyArray<Administrator>
}

export type AdministratorsListSessionsResult = {
  readonly items: ReadonlyArray<AdministratorSession>
}

export type AdministratorsRenewBackupCodesResult = {
  /** Codes that each replace a factor once. They are shown only once. Empty unless this is the first factor. */
  readonly backupCodes: ReadonlyArray<string>
}

export type AdministratorsRequestPasskeyInput = {
  readonly mfa_token?: string | undefined
}

export type AdministratorsSetPasswordInput = {
  readonly code: string
  readonly password: string
}

export type AdministratorsStepUpInput = {
  /** Code of the authenticator app, or a backup code. */
  readonly code?: string | undefined
  readonly challenge_id?: string | undefined
  readonly assertion_response?: PasskeyAssertionResponse & unknown | undefined
}

export type AdministratorsUpdateInput = {
  /** Address, with which they sign in. */
  readonly email?: string | undefined
  /** Rights: see the guide "A team". */
  readonly role?: 'owner' | 'developer' | 'support' | 'viewer' | undefined
  readonly isDisabled?: boolean | undefined
}

export type Advice = {
  /** Id of the rule and its object; the same on every node. */
  readonly id: string
  readonly rule: string
  readonly group: 'access' | 'indexes' | 'health'
  readonly severity: 'error' | 'warning' | 'info'
  readonly title: string
  readonly object: string
  readonly detail: string | null
  readonly explanation: string
  /** SQL that resolves the advice. */
  readonly statement: string | null
  /** Command, where no statement resolves the advice. */
  readonly command: string | null
  /** Page that the server serves. */
  readonly docs: string
  readonly dismissal: {
    readonly reason: string | null
    readonly by: string
    readonly at: string
    /** End of the dismissal; null if it does not end. */
    readonly until: string | null
  } | null
}

export type AdviceList = {
  readonly items: ReadonlyArray<Advice>
  /** Counts of all advice. */
  readonly count: number
  readonly counts: {
    readonly error: number
    readonly warning: number
    readonly info: number
    readonly dismissed: number
  }
}

export type AdvisorsDismissInput = {
  readonly reason?: string | null | undefined
  /** RFC 3339 time in the future. Without it, the dismissal does not end. */
  readonly until?: string | null | undefined
}

export type AggregateResults = {
  readonly results: ReadonlyArray<{
    readonly [name: string]: unknown
  }>
  /** `false` when there are more groups than `groupLimit` or `api.max_groups`. */
  readonly exhaustive?: boolean | undefined
}

export type AnalyticsLatencyResult = {
  readonly step: 'minute' | 'hour' | 'day'
  readonly items: ReadonlyArray<{
    /** Start of the step, in UTC. */
    readonly timestamp: string
    readonly requests: number
    /** Responses with status 500 and above. */
    readonly errors: number
    /** Bytes received and sent, including headers. */
    readonly bytes: number
    /** Accurate to 5 %. null without requests. */
    readonly p50_ms: number | null
    /** Accurate to 5 %. null without requests. */
    readonly p95_ms: number | null
    /** Accurate to 5 %. null without requests. */
    readonly p99_ms: number | null
  }>
}

export type AnalyticsQueriesResult = {
  readonly items: ReadonlyArray<Statement>
  readonly count: number
  /** Large tables that are often read by sequential scans. */
  readonly index_suggestions: ReadonlyArray<{
    readonly table: string
    readonly scans: number
    readonly rows_per_scan: number
  }>
}

export type AnalyticsRequestsResult = {
  readonly items: ReadonlyArray<LoggedRequest>
  /** Items in this response. */
  readonly count: number
  readonly limit: number
  readonly offset: number
  /** Time of the oldest request read, if the limit ended the search. Continue with this time as `to`. */
  readonly searchedTo?: string | undefined
}

export type ApiKey = {
  readonly id: string
  readonly userId: string
  readonly name: string
  /** First characters of the key. */
  readonly keyPrefix: string
  readonly scope: '*' | 'readonly' | 'readwrite'
  /** Empty means all collections. */
  readonly allowedTables: ReadonlyArray<string>
  /** Actions that the key may perform in addition to its scope. */
  readonly actions: ReadonlyArray<string>
  readonly appId: string | null
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
}

export type ApiKeyPage = {
  readonly items: ReadonlyArray<ApiKey>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

export type ApiKeysCreateInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name: string
  /** Default: `*`. */
  readonly scope?: '*' | 'readonly' | 'readwrite' | undefined
  /** Collections that the key may access. Empty means all. */
  readonly allowedTables?: ReadonlyArray<string> | null | undefined
  /** Time of expiry, in the future. */
  readonly expiresAt?: string | null | undefined
  readonly userId: string
  /** Default: none. The scope `*` includes no actions. */
  readonly actions?: ReadonlyArray<string> | null | undefined
  readonly appId?: string | null | undefined
  /** Not supported: there are no organizations. */
  readonly orgId?: null | undefined
}

export type ApiKeysCreateOwnInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name: string
  /** Default: `*`. */
  readonly scope?: '*' | 'readonly' | 'readwrite' | undefined
  /** Collections that the key may access. Empty means all. */
  readonly allowedTables?: ReadonlyArray<string> | null | undefined
  /** Time of expiry, in the future. */
  readonly expiresAt?: string | null | undefined
  /** Not allowed here: only an administrator grants actions. */
  readonly actions?: ReadonlyArray<string> | null | undefined
}

export type ApiKeysRenameOwnInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name: string
}

export type ApiKeysRotateInput = {
  /** Default: 3600. */
  readonly graceSeconds?: number | undefined
}

export type ApiKeysRotateOwnInput = {
  /** Default: 3600. */
  readonly graceSeconds?: number | undefined
}

export type ApiKeysUpdateInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name?: string | undefined
  /** Default: none. The scope `*` includes no actions. */
  readonly actions?: ReadonlyArray<string> | null | undefined
}

export type App = {
  readonly id: string
  readonly name: string
  readonly description: string
  /** null for the default app, and after the owner was deleted. */
  readonly ownerUserId: string | null
  /** Requests per window. 0 means no limit. */
  readonly rateLimitRps: number
  readonly rateLimitWindowSeconds: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** Facts that only functions and administrators set. The user can read them. */
export type AppMetadata = {
  readonly [name: string]: unknown
}

export type AppPage = {
  readonly items: ReadonlyArray<App>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

export type AppUsage = {
  readonly tenantId: string
  readonly tenantName: string
  readonly requestCount: number
  readonly storageBytesUsed: number
  readonly bandwidthBytes: number
  readonly bandwidthInBytes: number
  readonly bandwidthOutBytes: number
  readonly functionInvocations: number
  readonly realtimePeakConnections: number
  readonly jobRuns: number
}

export type AppliedMigration = {
  readonly name: string
  /** null where there is no folder. */
  readonly path: string | null
  readonly content: string
}

export type AppliedStorageTemplate = {
  readonly template: string
  readonly table: string
  readonly bucket?: string | undefined
  readonly policies: ReadonlyArray<{
    readonly name: string
    readonly command: 'select' | 'insert' | 'update' | 'delete'
  }>
}

export type AppsCreateInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name: string
  readonly description?: string | undefined
  /** Requests per window. 0 means no limit. */
  readonly rateLimitRps?: number | undefined
  /** 0: 60 seconds. */
  readonly rateLimitWindowSeconds?: number | undefined
  /** Id of an existing user. */
  readonly ownerUserId: string
}

export type AppsGetRateLimitResult = {
  /** 0 means no limit. */
  readonly limit: number
  readonly windowSeconds: number
  readonly used: number
  /** null means no limit. */
  readonly remaining: number | null
}

export type AppsUpdateInput = {
  /** NUL is not allowed; surrounding blanks are removed. */
  readonly name: string
  readonly description?: string | undefined
  /** Requests per window. 0 means no limit. */
  readonly rateLimitRps?: number | undefined
  /** 0: 60 seconds. */
  readonly rateLimitWindowSeconds?: number | undefined
}

export type AuditEntry = {
  readonly id: string
  readonly timestamp: string
  readonly actor: string
  readonly action: string
  readonly target: string | null
  readonly detail: {
    readonly [name: string]: unknown
  }
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly app_id: string | null
  readonly table_name: string | null
  readonly record_id: string | null
  readonly operation: string | null
  readonly old_values: {
    readonly [name: string]: unknown
  } | null
  readonly new_values: {
    readonly [name: string]: unknown
  } | null
  readonly ip_address: string | null
  readonly request_id: string | null
  /** Address of the administrator, for actions of administrators. */
  readonly administrator: string | null
}

export type AuditEntrySlice = {
  readonly items: ReadonlyArray<AuditEntry>
  /** Items in this response. */
  readonly count: number
  readonly limit: number
  readonly offset: number
}

export type AuthSettings = {
  readonly magic_link_enabled: boolean
  readonly sms_enabled: boolean
  readonly email_mfa_enabled: boolean
  readonly anonymous_auth_enabled: boolean
  readonly totp_enabled: boolean
  readonly webauthn_enabled: boolean
}

export type AuthSettingsUpdate = {
  readonly magic_link_enabled?: boolean | undefined
  readonly sms_enabled?: boolean | undefined
  readonly email_mfa_enabled?: boolean | undefined
  readonly anonymous_auth_enabled?: boolean | undefined
  readonly totp_enabled?: boolean | undefined
  readonly webauthn_enabled?: boolean | undefined
}

export type Authentication = {
  /** Access token, a JWT. */
  readonly token: string
  /** Opaque token, replaced at every refresh. */
  readonly refreshToken: string
  readonly user: User
}

export type Base64Url = string

export type BatchOperation = {
  readonly method: 'create' | 'update' | 'delete'
  /** String or number; for update and delete. */
  readonly id?: unknown | undefined
  readonly body?: TableRecord | undefined
  /** Entity tags of the record, or `*`, as in the header `If-Match`. The whole batch is a 412 `precondition_failed` when the record has another version. */
  readonly ifMatch?: string | undefined
  /** Columns of a unique key, for a create. A record that has the same key is updated. */
  readonly onConflict?: string | ReadonlyArray<string> | undefined
  readonly onConflictAction?: 'update' | 'ignore' | undefined
}

export type BatchOperationAcross = {
  /** The collection of this operation. */
  readonly table: string
  readonly method: 'create' | 'update' | 'delete'
  /** String or number; for update and delete. */
  readonly id?: unknown | undefined
  readonly body?: TableRecord | undefined
  /** Entity tags of the record, or `*`, as in the header `If-Match`. The whole batch is a 412 `precondition_failed` when the record has another version. */
  readonly ifMatch?: string | undefined
  /** Columns of a unique key, for a create. A record that has the same key is updated. */
  readonly onConflict?: string | ReadonlyArray<string> | undefined
  readonly onConflictAction?: 'update' | 'ignore' | undefined
}

export type BatchResult = {
  readonly index: number
  /** 201 for a create, 200 for an update or a create that found its key, 204 for a delete. */
  readonly status: number
  readonly body?: TableRecord | undefined
  /** Entity tag of the created or updated record, for `ifMatch`. */
  readonly etag?: string | undefined
}

export type BillingEvent = {
  readonly id: string
  readonly type: string
  readonly happened_at: string
  /** App of a checkout. */
  readonly app_id: string | null
  readonly subscription_id: string | null
  readonly customer_id: string | null
  /** Time according to the event. */
  readonly plan: string | null
  /** Time according to the event. */
  readonly status: string | null
  readonly received_at: string
}

export type BillingEventSlice = {
  readonly items: ReadonlyArray<BillingEvent>
  /** Items in this response. */
  readonly count: number
  readonly limit: number
  readonly offset: number
}

export type BillingReportResult = {
  readonly ok: boolean
}

export type BillingState = {
  readonly app_id: string
  readonly plan: string
  /** null without a subscription. */
  readonly status: 'unpaid' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'incomplete' | null
  readonly subscription_id: string | null
  readonly customer_id: string | null
  readonly updated_at: string | null
}

export type Bucket = {
  readonly id: string
  readonly name: string
  /** Everybody may read its objects by their addresses. */
  readonly public: boolean
  /** Bytes; as configured when absent. */
  readonly maxFileSize?: number | undefined
  /** Media types; all when absent. */
  readonly allowedTypes?: ReadonlyArray<string> | undefined
  readonly createdAt: string
  readonly updatedAt: string
}

export type BucketList = {
  readonly items: ReadonlyArray<Bucket>
}

export type CallerReference = {
  /** `user`: by `id` or `email`. `key`: the API key `id`. `client`: the OAuth client `clientId`, for the user of `id` or `email`, or for itself. `anonymous`: without a token. `claims`: any claims, of `userId`. */
  readonly kind: 'user' | 'key' | 'client' | 'anonymous' | 'claims'
  readonly id?: string | undefined
  readonly email?: string | undefined
  /** Default: `aal1`. */
  readonly aal?: 'aal1' | 'aal2' | undefined
  readonly sessionId?: string | undefined
  readonly clientId?: string | undefined
  readonly userId?: string | undefined
  /** Scope of a client. Default: the granted scope. */
  readonly scope?: '*' | 'readonly' | 'readwrite' | undefined
  readonly tables?: ReadonlyArray<string> | undefined
  readonly emailVerified?: boolean | undefined
  readonly isAnonymous?: boolean | undefined
}

export type CaptchaChallenge = {
  readonly provider: 'off' | 'proof_of_work' | 'turnstile' | 'hcaptcha' | 'friendly_captcha'
  readonly route: 'register' | 'sms' | 'magic_link' | 'password_reset' | 'anonymous'
  /** Public key, for the widget of the provider. */
  readonly siteKey?: string | undefined
  readonly algorithm?: 'SHA-256' | undefined
  /** SHA-256 of the salt followed by the number to find, in hexadecimal. */
  readonly challenge?: string | undefined
  /** Largest number to try; the first one is 0. */
  readonly maxnumber?: number | undefined
  readonly salt?: string | undefined
  readonly signature?: string | undefined
}

export type CdnPurge = {
  readonly operation: 'purge_urls' | 'purge_all'
  /** Number of distinct addresses; 1 for `purge_all`. */
  readonly submitted: number
  readonly provider: 'nop' | 'cloudflare' | 'cloudfront' | 'webhook'
}

/** Either `urls` or `purge_all`. */
export type CdnPurgeInput = {
  /** Absolute http or https URLs without a user name. */
  readonly urls?: ReadonlyArray<string> | undefined
  /** True to purge all copies. Allowed once a minute per address. */
  readonly purge_all?: true | undefined
}

export type CollectionsAggregateInput = {
  /** Conditions such as `milliseconds > 300000 AND (name ~ 'A%' OR album.artist_id IN (1, 2))`. Operators: `=`, `!=`, `>`, `>=`, `<`, `<=`, `~` (LIKE), `~*` (ILIKE), `IN (…)`, `BETWEEN … AND …`, `IS NULL`, `CONTAINS`, `OVERLAPS`, `MATCHES`, `NOT`, `AND` or `&&`, `OR` or `||`, parentheses. Columns of related records by dots, values in `jsonb` by `->` and `->>`. Values: `'text'` (a quote inside is `''`), numbers, `true`, `false`, `null`. A column with an odd name goes in double quotes. */
  readonly filter?: string | undefined
  /** Words in the text columns, all of them; `"a phrase"`, `one or another`, `-excluded`. The best matches come first unless `sort` is given. At most `search.rank_limit` matches are ranked; `searchExhaustive` is false when there are more. */
  readonly search?: string | undefined
  /** `true` tolerates typos in `search`; needs the extension pg_trgm. */
  readonly fuzzy?: boolean | undefined
  /** With `fuzzy=true`: trigram similarity that counts as a match. Default: 0.2. */
  readonly typo_threshold?: number | undefined
  /** `column,lng,lat,distance`: at most this distance away, in metres for a geography, else in the units of the column. */
  readonly near?: string | ReadonlyArray<unknown> | undefined
  /** `column,{…}`: within this polygon or these polygons, as GeoJSON. */
  readonly within?: string | ReadonlyArray<unknown> | undefined
  /** `column,{…}`: touching this geometry, as GeoJSON. */
  readonly intersects?: string | ReadonlyArray<unknown> | undefined
  /** `column,minLng,minLat,maxLng,maxLat`: in this box. */
  readonly bbox?: string | ReadonlyArray<unknown> | undefined
  /** `count`, `count(c)`, `count_distinct(c)`, `sum(c)`, `avg(c)`, `min(c)`, `max(c)`, `bbox(c)` or `centroid(c)` of a column. */
  readonly aggregate: string | ReadonlyArray<string>
  /** Columns to group by, at most ten. */
  readonly group?: string | ReadonlyArray<string> | undefined
  /** Columns of the group or keys of results; `-` before one sorts descending. */
  readonly groupSort?: string | ReadonlyArray<string> | undefined
  /** Maximum number of groups returned; needs `group`. */
  readonly groupLimit?: number | undefined
}

export type CollectionsBatchAcrossInput = {
  readonly operations: ReadonlyArray<BatchOperationAcross>
  /** True if results have entity tags. Default: false. */
  readonly etags?: boolean | undefined
}

export type CollectionsBatchInput = {
  readonly operations: ReadonlyArray<BatchOperation>
  /** True if results have entity tags. Default: false. */
  readonly etags?: boolean | undefined
}

export type CollectionsQueryInput = {
  /** Conditions such as `milliseconds > 300000 AND (name ~ 'A%' OR album.artist_id IN (1, 2))`. Operators: `=`, `!=`, `>`, `>=`, `<`, `<=`, `~` (LIKE), `~*` (ILIKE), `IN (…)`, `BETWEEN … AND …`, `IS NULL`, `CONTAINS`, `OVERLAPS`, `MATCHES`, `NOT`, `AND` or `&&`, `OR` or `||`, parentheses. Columns of related records by dots, values in `jsonb` by `->` and `->>`. Values: `'text'` (a quote inside is `''`), numbers, `true`, `false`, `null`. A column with an odd name goes in double quotes. */
  readonly filter?: string | undefined
  /** Words in the text columns, all of them; `"a phrase"`, `one or another`, `-excluded`. The best matches come first unless `sort` is given. At most `search.rank_limit` matches are ranked; `searchExhaustive` is false when there are more. */
  readonly search?: string | undefined
  /** `true` tolerates typos in `search`; needs the extension pg_trgm. */
  readonly fuzzy?: boolean | undefined
  /** With `fuzzy=true`: trigram similarity that counts as a match. Default: 0.2. */
  readonly typo_threshold?: number | undefined
  /** `column,lng,lat,distance`: at most this distance away, in metres for a geography, else in the units of the column. */
  readonly near?: string | ReadonlyArray<unknown> | undefined
  /** `column,{…}`: within this polygon or these polygons, as GeoJSON. */
  readonly within?: string | ReadonlyArray<unknown> | undefined
  /** `column,{…}`: touching this geometry, as GeoJSON. */
  readonly intersects?: string | ReadonlyArray<unknown> | undefined
  /** `column,minLng,minLat,maxLng,maxLat`: in this box. */
  readonly bbox?: string | ReadonlyArray<unknown> | undefined
  /** `true` adds `_highlight` and `_highlightResult` to the records that `search` finds. */
  readonly highlight?: boolean | undefined
  /** Comma-separated columns; `-` sorts descending, and the primary key is appended. `album.artist.name` is a column of a related record, through relations to one record. `column.distance(lng,lat)` as the first term sorts the nearest first, and adds `_distance` to the records of a list. */
  readonly sort?: string | ReadonlyArray<string> | undefined
  /** Page number from 1; lower values mean 1. Not with `cursor`. */
  readonly page?: number | undefined
  /** At most 500. Values out of range are clamped. */
  readonly perPage?: number | undefined
  /** `true` leaves out the count. */
  readonly skipTotal?: boolean | undefined
  /** Uses the planner's estimate instead of a count. */
  readonly total?: 'estimated' | undefined
  /** Empty for the first page, then `nextCursor` of the page before. */
  readonly cursor?: string | undefined
  /** Comma-separated column names; without it, all. */
  readonly fields?: string | ReadonlyArray<string> | undefined
  /** Comma-separated relation names, nested by dots: `album.artist`. */
  readonly expand?: string | ReadonlyArray<string> | undefined
  /** Comma-separated columns whose values are counted. */
  readonly facets?: string | ReadonlyArray<string> | undefined
  /** Facets that are counted as if the filter did not choose among their values. */
  readonly disjunctiveFacets?: string | ReadonlyArray<string> | undefined
  /** A vector. The nearest records come first, with `_distance`. */
  readonly nearest?: ReadonlyArray<number> | string | undefined
  /** A text instead of the vector of `nearest`. */
  readonly semantic_query?: string | undefined
  /** `true` fuses the matches of `search` by words and by meaning. */
  readonly semantic?: boolean | undefined
  /** Column to compare, where the table has several vectors. */
  readonly vector_column?: string | undefined
  /** Default: `cosine`. */
  readonly distance?: 'cosine' | 'l2' | 'inner_product' | undefined
}

export type CollectionsSearchFacetResult = {
  readonly facetHits: ReadonlyArray<{
    readonly value: string
    /** HTML; the searched text is in `<mark>`. */
    readonly highlighted: string
    readonly count: number
  }>
  /** True if there is no further value with this prefix. */
  readonly exhaustiveFacetsCount: boolean
}

export type CompanySignInStartInput = {
  /** Page of the dashboard to return to: a path. */
  readonly returnTo?: string | undefined
}

export type CompanySignInStepUpInput = {
  /** Page of the dashboard to return to: a path. */
  readonly returnTo?: string | undefined
}

export type CreateVectorIndex = {
  readonly table: string
  readonly column: string
  readonly method: 'hnsw' | 'ivfflat'
  readonly metric: 'cosine' | 'l2' | 'inner_product'
  /** Default: `public`. */
  readonly schema?: string | undefined
  /** Default: `idx_<table>_<column>_<method>`. */
  readonly index_name?: string | undefined
  /** ivfflat: number of lists. */
  readonly lists?: number | undefined
  /** hnsw: links of each row. */
  readonly m?: number | undefined
  /** hnsw: candidates while building. */
  readonly ef_construction?: number | undefined
}

export type CreatedApiKey = {
  /** Secret to send as bearer token. It is shown only once. */
  readonly key: string
  readonly apiKey: ApiKey
}

export type CreatedVectorIndex = {
  readonly index_name: string
  readonly method: 'hnsw' | 'ivfflat'
  readonly metric: 'cosine' | 'l2' | 'inner_product'
  readonly table: string
  readonly column: string
}

export type CurrentAdminSession = {
  readonly expiresAt: string
  /** null for a token of the command line. */
  readonly administratorId: string | null
  readonly email: string | null
  readonly role: 'owner' | 'developer' | 'support' | 'viewer'
  /** Permissions of the role. */
  readonly permissions: ReadonlyArray<'owner' | 'settings.read' | 'structure.write' | 'apps.write' | 'content.write' | 'rows.write' | 'users.manage' | 'operations.write' | 'sql.write' | 'sql.read' | 'rows.read' | 'rows.view' | 'access.explain' | 'users.read' | 'users.view' | 'users.act' | 'tickets.write' | 'bodies.read' | 'structure.read' | 'apps.read' | 'content.read' | 'operations.read' | 'account'>
  /** True if the administrator has a second factor. */
  readonly hasSecondFactor: boolean
  /** True if the administrator can authenticate again at the OpenID provider, for sensitive operations. */
  readonly hasIdentity: boolean
  /** True if only the enrolment of a second factor is admitted: `admin.require_second_factor`. */
  readonly mustEnroll: boolean
}

export type CustomMailTemplate = MailTemplate & {
  readonly id: string
  readonly createdAt: string
  /** Reasons why the template will not be used. */
  readonly warnings?: ReadonlyArray<string> | undefined
}

export type DashboardPreferences = {
  readonly theme: 'system' | 'light' | 'dark'
  /** Groups of the navigation that are folded. */
  readonly foldedGroups: ReadonlyArray<string>
  /** Table that was opened last. */
  readonly lastTable: string | null
}

export type DashboardReads = {
  /** True if reads by the dashboard are logged and counted. Its writes and sign-ins always are. */
  readonly isLogged: boolean
}

export type DashboardReadsSetInput = {
  readonly isLogged: boolean
}

export type DatabaseState = {
  readonly name: string
  /** Version of PostgreSQL. */
  readonly version: string
  readonly isEmbedded: boolean
  readonly sizeBytes: number
  readonly startedAt: string
  /** Connections of all clients. */
  readonly connections: number
  readonly maxConnections: number
}

export type Deploy = {
  readonly id: string
  readonly siteId: string
  readonly status: 'uploading' | 'live' | 'superseded' | 'failed'
  readonly fileCount: number
  readonly totalBytes: number
  readonly errorMessage?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
}

export type DeployPage = {
  readonly deploys: ReadonlyArray<Deploy>
  readonly totalCount: number
  readonly page: number
  readonly perPage: number
}

export type Domain = {
  readonly id: string
  /** Name in ASCII. */
  readonly hostname: string
  readonly environment: string
  readonly redirectMode?: 'permanent' | 'temporary' | undefined
  readonly status: 'pending_verification' | 'verified' | 'active' | 'verification_failed' | 'verification_lapsed' | 'tombstoned'
  /** DNS record that proves the ownership of the domain. */
  readonly verification: {
    readonly type: 'TXT'
    readonly name: string
    readonly value: string
  }
  readonly siteId?: string | undefined
  /** Reason why the last check failed. */
  readonly lastError?: string | undefined
  readonly verifiedAt?: string | undefined
  readonly checkedAt?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
}

export type DomainPage = {
  readonly items: ReadonlyArray<Domain>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

export type DomainsCreateInput = {
  /** Domain name, such as `shop.example.com`. */
  readonly hostname: string
  /** Any label. */
  readonly environment?: string | undefined
  /** Status of the redirect from the slug host to this domain: 308 or 307. By default, both hosts serve the site. */
  readonly redirectMode?: 'permanent' | 'temporary' | undefined
}

export type EffectiveSetting = {
  readonly key: string
  /** null for a secret, set or not. */
  readonly value: unknown
  readonly isSecret: boolean
  readonly isDefault: boolean
  /** Environment variable that sets the key. */
  readonly env: string
  readonly description: string
}

export type EffectiveSettingList = {
  readonly items: ReadonlyArray<EffectiveSetting>
  readonly count: number
}

export type Embedding = {
  readonly name: string
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly vectorColumn: string
  /** `provider:model`; null if no model is configured. */
  readonly model: string | null
  /** Provider of the model, as the node that responds sees it. */
  readonly provider: {
    readonly name: string
    /** State of the provider’s circuit breaker. `closed`: requests are sent. `open`: no requests are sent for a while, after repeated failures. `half-open`: the next request is a trial. */
    readonly breaker: 'closed' | 'open' | 'half-open'
    /** Seconds until requests to the provider are possible again; 0 if they already are. */
    readonly retryInSeconds: number
  } | null
  /** Reason why the vector column cannot be updated, such as a missing table. */
  readonly problem: string | null
  /** True if existing rows have not been queued since the configuration of the embedding changed. */
  readonly isOutdated: boolean
  /** Number of rows that wait for their vector. */
  readonly pending: number
  /** Number of rows whose text the provider rejects. */
  readonly failed: number
  /** Number of vectors written so far. */
  readonly written: number
  readonly lastWrittenAt: string | null
  readonly lastError: string | null
  readonly backfill: EmbeddingBackfill | null
}

export type EmbeddingBackfill = {
  readonly jobId: string
  /** State of the backfill job. */
  readonly state: string
  /** Number of rows that the backfill has queued; null until then. */
  readonly rows: number | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

export type EmbeddingDetail = {
  readonly name: string
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly vectorColumn: string
  /** `provider:model`; null if no model is configured. */
  readonly model: string | null
  /** Provider of the model, as the node that responds sees it. */
  readonly provider: {
    readonly name: string
    /** State of the provider’s circuit breaker. `closed`: requests are sent. `open`: no requests are sent for a while, after repeated failures. `half-open`: the next request is a trial. */
    readonly breaker: 'closed' | 'open' | 'half-open'
    /** Seconds until requests to the provider are possible again; 0 if they already are. */
    readonly retryInSeconds: number
  } | null
  /** Reason why the vector column cannot be updated, such as a missing table. */
  readonly problem: string | null
  /** True if existing rows have not been queued since the configuration of the embedding changed. */
  readonly isOutdated: boolean
  /** Number of rows that wait for their vector. */
  readonly pending: number
  /** Number of rows whose text the provider rejects. */
  readonly failed: number
  /** Number of vectors written so far. */
  readonly written: number
  readonly lastWrittenAt: string | null
  readonly lastError: string | null
  readonly backfill: EmbeddingBackfill | null
  /** The 100 rows that failed first. */
  readonly failures: ReadonlyArray<{
    readonly recordKey: ReadonlyArray<unknown>
    readonly error: string
  }>
}

export type EmbeddingList = {
  readonly items: ReadonlyArray<Embedding>
  readonly count: number
}

export type EmbeddingsBackfillInput = {
  /** True to queue rows that already have a vector too. */
  readonly all?: boolean | undefined
}

/** An error. */
export type Error = {
  /** Equals the HTTP status. */
  readonly code: number
  readonly message: string
  /** Stable slug; see the error reference. */
  readonly error: string
  readonly data?: {
    readonly [name: string]: unknown
  } | undefined
  readonly doc_url?: string | undefined
}

export type EventDetail = {
  /** Position of the change in the log. Later changes have higher ids. */
  readonly id: string
  /** Time at which the transaction began. */
  readonly happenedAt: string | null
  /** Action: create, update, delete or truncate. */
  readonly action: string
  readonly table: string
  /** Key of the record. The values of a composite key are joined by commas. */
  readonly record: string | null
  /** Key of the record before an update that changed the key. */
  readonly previousRecord: string | null
  /** Kind of caller: user, admin, anonymous, open or sql. */
  readonly actor: string | null
  readonly userId: string | null
  readonly apiKeyId: string | null
  /** `X-Request-Id` of the response to the request that wrote. */
  readonly requestId: string | null
  readonly isInLog: boolean
  readonly transactionId: string | null
  /** JSON body that receivers get. */
  readonly payload: string
  /** Readers of the log, each with a flag that is true if it has read up to this change. */
  readonly consumers: ReadonlyArray<{
    readonly name: string
    readonly hasTaken: boolean
  }>
  readonly webhooks: ReadonlyArray<{
    readonly webhookId: string
    readonly url: string
    /** Value of the header `webhook-id`. */
    readonly eventId: string
    readonly state: 'pending' | 'delivered' | 'failed'
    readonly attempts: ReadonlyArray<{
      /** Id of the delivery. */
      readonly id: string
      readonly attempt: number
      readonly success: boolean
      readonly statusCode: number | null
      readonly durationMs: number
      readonly error: string | null
      /** The first 2,000 characters of the response. */
      readonly responseBody: string | null
      readonly deliveredAt: string
    }>
    readonly next: {
      readonly dueAt: string
      /** Number of attempts that have ended. */
      readonly attempts: number
      readonly isInFlight: boolean
      /** True if an earlier event of the same record has to be delivered first. */
      readonly waitsForEarlier: boolean
      readonly isWebhookEnabled: boolean
    } | null
  }>
  /** Streams by node. The record of the last second is lost if a node is killed. */
  readonly streams: {
    /** True if every stream that subscribed to the table was sure to receive the change. */
    readonly isLogged: boolean
    /** State of `sent`. `complete`: the list is final. `pending`: nodes write it within a second or two. `incomplete`: a node had more streams than a record holds, or the change is older than `realtime.sent_retention_hours`. */
    readonly record: 'complete' | 'pending' | 'incomplete'
    readonly sent: ReadonlyArray<{
      readonly node: string
      readonly recordedAt: string
      /** Number of streams that received the change. */
      readonly sent: number
      /** Number of streams of the table that did not receive it, because of policies or filters. */
      readonly withheld: number
      /** The first ten streams on the node. */
      readonly receivers: ReadonlyArray<{
        /** The `clientId` of the stream. */
        readonly connection: string
        /** Transport: sse or ws. */
        readonly transport: string
        readonly caller: 'user' | 'anonymous' | 'admin' | 'open'
        readonly userId: string | null
      }>
    }>
    readonly nodes: ReadonlyArray<{
      readonly node: string
      /** Number of streams that subscribe to the table now. */
      readonly connections: number
      /** Number of these streams that were open when the change happened. */
      readonly connectedBefore: number
    }>
  }
  /** Jobs that the same transaction has added. */
  readonly jobs: ReadonlyArray<{
    readonly id: string
    readonly type: string
    readonly state: 'queued' | 'running' | 'completed' | 'failed' | 'canceled'
    readonly attempts: number
    readonly maxAttempts: number
    readonly lastError: string | null
    readonly runAt: string
    readonly finishedAt: string | null
  }>
  /** Vectors that follow the text of the record. */
  readonly embeddings: ReadonlyArray<{
    readonly name: string
    /** Current state. */
    readonly state: 'pending' | 'failed' | 'done'
    readonly error: string | null
  }>
}

export type EventsListResult = {
  readonly items: ReadonlyArray<ListedEvent>
  /** Cursor of the next page, if there may be more changes. */
  readonly nextCursor?: string | undefined
  /** Time back to which the log was read, if this limit ended the page. */
  readonly searchedTo: string | null
  /** Time of the oldest change in the log. */
  readonly keptSince: string | null
}

export type ExpressionPart = {
  /** Value of an expression for a row. */
  readonly value: boolean | 'error' | null
  /** Message of an error. */
  readonly message?: string | undefined
  readonly sqlState?: string | undefined
  readonly text: string
  readonly operator?: 'and' | 'or' | 'not' | undefined
  /** Parts of an operator, in the same form. */
  readonly terms: ReadonlyArray<{
    readonly [name: string]: unknown
  }>
  /** Sides of a comparison. */
  readonly sides: ReadonlyArray<{
    readonly expression: string
    readonly text?: string | null | undefined
    readonly message?: string | undefined
  }>
}

export type FacetCount = {
  readonly value: unknown
  readonly count: number
}

/** With `facets`: the values of each column, most frequent first. */
export type FacetCounts = {
  readonly [name: string]: ReadonlyArray<FacetCount>
}

export type FacetRange = {
  readonly min: number
  readonly max: number
}

/** Present for numeric facets. */
export type FacetRanges = {
  readonly [name: string]: FacetRange
}

export type Factor = {
  readonly id: string
  readonly method: 'totp' | 'email' | 'sms' | 'webauthn'
  readonly label: string
  /** Masked. */
  readonly phone?: string | undefined
  /** Masked. */
  readonly email?: string | undefined
}

export type FunctionActivity = {
  readonly name: string
  readonly calls: {
    readonly hour: number
    readonly day: number
  }
  readonly errors: {
    readonly hour: number
    readonly day: number
  }
}

export type FunctionDeploy = {
  /** SHA-256 over the paths and contents of the files. */
  readonly hash: string
  readonly fileCount: number
  readonly totalBytes: number
  /** Files in the folder of the functions. */
  readonly functionFiles: ReadonlyArray<string>
  readonly isLive: boolean
  /** True for the deploy that a rollback makes live. */
  readonly isPrevious: boolean
  /** True if each node installs the packages. */
  readonly installs: boolean
  readonly createdAt: string
  /** Last time at which it was made live, if the audit log has that. */
  readonly promotedAt: string | null
  /** Administrator who made it live. null for the role `viewer`. */
  readonly promotedBy: string | null
}

export type FunctionDeployList = {
  readonly items: ReadonlyArray<FunctionDeploy>
  readonly count: number
}

export type FunctionFailure = {
  readonly time: string
  readonly function: string
  /** null for the role `viewer`. */
  readonly message: string | null
  /** null for the role `viewer`, and for errors without one. */
  readonly stack: string | null
  /** Frames in the code of the functions, the innermost first. */
  readonly frames: ReadonlyArray<FunctionStackFrame>
  readonly requestId: string | null
  readonly node: string
}

export type FunctionFailureList = {
  readonly items: ReadonlyArray<FunctionFailure>
  readonly count: number
}

export type FunctionInvocation = {
  /** Status of the response that a client would get. */
  readonly status: number
  /** Result; missing for none, and after an error. For a streamed response, its first 65,536 bytes as a text. */
  readonly result?: unknown | undefined
  readonly error: {
    readonly error: string
    readonly message: string
    /** Stack of an error other than a refusal. */
    readonly stack?: string | undefined
    readonly frames: ReadonlyArray<FunctionStackFrame>
  } | null
  /** True if the transaction was committed. */
  readonly isCommitted: boolean
  readonly durationMs: number
  /** Lines of the function: the level, the message and its fields. At most 200. */
  readonly log: ReadonlyArray<string>
  /** Statements in the order in which they ended, without those of hooks. At most 200. */
  readonly statements: ReadonlyArray<{
    /** SQL without its values, or the request of the data API. At most 2,000 characters. */
    readonly text: string
    readonly durationMs: number
    /** Message of its error. */
    readonly error?: string | undefined
  }>
  /** Id of the call in the log. */
  readonly requestId: string
}

export type FunctionSource = {
  readonly file: string
  readonly deploy: string | null
  readonly line: number
  /** Number of the first line of the excerpt. */
  readonly firstLine: number
  readonly lines: ReadonlyArray<string>
  /** Time of the last change of a file on this machine. null for a deploy, which does not change. */
  readonly modifiedAt: string | null
}

export type FunctionStackFrame = {
  /** Path in the folder of the functions: `shop.ts`. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** Hash of the deploy. null for a folder of the machine. */
  readonly deploy: string | null
  /** Name of the JavaScript function, if it has one. */
  readonly caller: string | null
}

export type FunctionsActivityResult = {
  readonly items: ReadonlyArray<FunctionActivity>
  /** False if there were more calls than are counted: 20,000 requests, and for each function 2,000 jobs or 5,000 attempts to handle a change. */
  readonly isComplete: boolean
}

export type FunctionsCreateDeployInput = {
  readonly files: ReadonlyArray<{
    /** Relative path with slashes, such as `functions/checkout.ts`. */
    readonly path: string
    readonly sha256: string
    readonly size: number
  }>
  /** True if each node installs the packages by `npm ci`. The files then have a `package-lock.json` and no packages. Default: false. */
  readonly install?: boolean | undefined
}

export type FunctionsCreateDeployResult = {
  readonly deploy: FunctionDeploy
  readonly missing: ReadonlyArray<string>
}

export type FunctionsInvokeInput = {
  /** Export of the route, or its file for a default export. */
  readonly name: string
  /** Input of the function. */
  readonly input?: unknown | undefined
  /** Parameters of the path by name. */
  readonly params?: {
    readonly [name: string]: string
  } | undefined
  /** Id of the user who calls, or `anonymous` for a request without a token. Default: the administrator. */
  readonly as?: string | undefined
  /** Keeps what the function has written. Default: false. */
  readonly commit?: boolean | undefined
  /** Reason for the audit log. `commit` requires it. At most 500 characters. */
  readonly reason?: string | undefined
}

export type FunctionsListResult = {
  /** `deploy`, `folder` of the machine, or `none`. */
  readonly source: string
  /** Hash of the deploy that is loaded. */
  readonly deploy: string | null
  /** False while the process of the functions restarts. */
  readonly isAvailable: boolean
  /** Newest load, if it has failed. */
  readonly failure: {
    readonly failedAt: string
    /** Hash of the deploy. null for a folder of the machine. */
    readonly deploy: string | null
    /** null for the role `viewer`. */
    readonly reason: string | null
    readonly frames: ReadonlyArray<FunctionStackFrame>
  } | null
  readonly items: ReadonlyArray<LoadedFunction>
  readonly count: number
}

export type FunctionsSendFilesResult = {
  /** Number of files in the archive. */
  readonly files: number
}

/** Texts by hash, or an Apollo manifest. */
export type GraphqlAddDocumentsInput = {
  /** Documents of an Apollo manifest, with their hash as `id`. */
  readonly operations?: ReadonlyArray<{
    readonly id: string
    readonly body: string
    readonly [name: string]: unknown
  }> | undefined
  readonly [name: string]: unknown
}

export type GraphqlAddDocumentsResult = {
  /** Documents that were not listed before. */
  readonly added: number
  /** Documents of the manifest. */
  readonly total: number
}

export type GraphqlListDocumentsResult = {
  readonly items: ReadonlyArray<PersistedDocument>
  /** Missing on the last page. */
  readonly nextCursor?: string | undefined
}

/** Response of a GraphQL request (GraphQL specification, Response Format). */
export type GraphqlResponse = {
  /** Values of the selected fields; null after an error. */
  readonly data?: unknown | undefined
  readonly errors?: ReadonlyArray<{
    readonly message: string
    readonly locations?: ReadonlyArray<{
      readonly line: number
      readonly column: number
    }> | undefined
    readonly path?: ReadonlyArray<string | number> | undefined
    readonly extensions?: {
      /** Stable slug; see the error reference. */
      readonly code: string
      readonly [name: string]: unknown
    } | undefined
  }> | undefined
}

export type GraphqlRunInput = {
  /** Document; optional with `documentId`. */
  readonly query?: string | undefined
  /** Operation to run, where there are several. */
  readonly operationName?: string | undefined
  readonly variables?: {
    readonly [name: string]: unknown
  } | undefined
  /** Hash of a persisted document: `sha256:` and hexadecimal digits. */
  readonly documentId?: string | undefined
  readonly extensions?: {
    readonly [name: string]: unknown
  } | undefined
}

export type GridColumn = {
  readonly name: string
  readonly position: number
  readonly type: string
  readonly jsonType: string
  readonly nullable: boolean
  readonly hasDefault?: boolean | undefined
  readonly default?: string | undefined
  readonly identity?: 'always' | 'by default' | undefined
  readonly isGenerated?: boolean | undefined
  readonly comment?: string | undefined
  /** Kind of a text, from a tag such as `@color` in the comment. */
  readonly format?: 'color' | 'url' | 'email' | 'markdown' | 'file' | undefined
  /** Bucket of the tag `@file`. */
  readonly bucket?: string | undefined
  readonly isPrimaryKey: boolean
  readonly isGeometry: boolean
  readonly isGeography: boolean
  readonly isRaster?: boolean | undefined
  /** Empty where the column accepts every kind. */
  readonly geometryType?: string | undefined
  readonly srid?: number | undefined
  readonly coordDimension?: number | undefined
  readonly isVector: boolean
  readonly vectorDim?: number | undefined
  readonly enumValues?: ReadonlyArray<string> | undefined
}

export type GridPage = {
  readonly columns: ReadonlyArray<string>
  /** Number of characters after which cells are cut. A cut cell has one character more. */
  readonly width: number
  /** `file`: the table has no primary key. Its rows come in the order of the file, forwards only. */
  readonly paging: 'keyset' | 'file' | 'offset'
  /** null if no row precedes the page. */
  readonly before: string | null
  /** null on the last page. */
  readonly after: string | null
  readonly rows: ReadonlyArray<GridRow>
}

export type GridRelation = {
  readonly name: string
  readonly kind: 'many-to-one' | 'one-to-many'
  readonly table: string
  readonly pairs: ReadonlyArray<{
    readonly from: string
    readonly to: string
  }>
  readonly constraint: string
}

export type GridRow = {
  /** Primary key. */
  readonly key: ReadonlyArray<string> | null
  /** Entity tag for `ifMatch` of a change. null for a row that cannot be changed, of a distributed table, or of more than 1 MB, unless it was requested by its `id`. */
  readonly etag: string | null
  readonly sizes?: {
    readonly [name: string]: number
  } | undefined
  readonly cells: ReadonlyArray<string | null>
}

export type GridTable = {
  /** Name in the API. */
  readonly table: string
  readonly schema: string
  readonly name: string
  readonly kind: 'table' | 'partitioned_table' | 'view' | 'materialized_view' | 'foreign_table'
  readonly comment?: string | undefined
  readonly rlsEnabled: boolean
  readonly policies: number
  readonly isWritable: boolean
  readonly primaryKey: ReadonlyArray<string>
  /** As in `/api/schema`. */
  readonly columns: ReadonlyArray<GridColumn>
  readonly relations: ReadonlyArray<GridRelation>
  /** Column by which people recognize a row: one with `@label` in its comment, a name or title, or the first text. */
  readonly label: string | null
  /** Columns with ids of users: foreign keys to `basalt.users`, and defaults of `basalt.user_id()`. */
  readonly people: ReadonlyArray<string>
  /** Columns that an index can sort by. */
  readonly sorted: ReadonlyArray<string>
  /** Foreign keys to this table that delete rows with it, as in `constraint` of the relations. */
  readonly cascades: ReadonlyArray<string>
  /** True if changes of its rows are in the audit log (`audit.tables`). */
  readonly isAudited: boolean
  /** True if streams also receive changes made by plain SQL (`events.capture`). */
  readonly isCaptured: boolean
}

export type Health = {
  readonly status: 'ok' | 'degraded' | 'stopping'
  readonly database: 'ok' | 'unreachable'
  /** Workers that serve, of those of `server.workers`. Absent with a single process. */
  readonly workers?: {
    readonly serving: number
    readonly total: number
    /** Present while a reload starts other workers. */
    readonly reloading?: true | undefined
  } | undefined
}

export type Histogram = {
  readonly from: string
  /** Exclusive end. */
  readonly to: string
  /** True if a filter without an index is applied to the newest 1,000 rows of each step. Also true if the range has more than 100,000 errors or selected entries: the others are not counted. */
  readonly isEstimated: boolean
  readonly items: ReadonlyArray<{
    /** Start of the step. */
    readonly timestamp: string
    /** At most 20,000, unless the filter selects errors. */
    readonly count: number
    /** Entries from `error` on, or responses with status 500 and above. */
    readonly errors: number
  }>
}

export type Impersonation = {
  readonly id: string
  readonly userId: string
  /** Email of the user. Empty if the user has none. */
  readonly email: string
  readonly impersonatedBy: string
  readonly reason: string
  readonly aal: 'aal1' | 'aal2'
  readonly createdAt: string
  readonly expiresAt: string
}

export type ImpersonationsListResult = {
  readonly items: ReadonlyArray<Impersonation>
}

export type ImportResult = {
  readonly processed: number
  readonly inserted: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
  /** The rejected rows, at most the first 10,000. */
  readonly errors?: ReadonlyArray<ImportRowFault> | undefined
  readonly dryRun?: boolean | undefined
}

export type ImportRowFault = {
  /** Row number, from 1. */
  readonly row: number
  readonly message: string
}

export type ImportRun = {
  readonly id: string
  readonly collection: string
  readonly state: 'running' | 'succeeded' | 'failed' | 'canceled'
  /** Size of the file in bytes. */
  readonly rowsRead: number
  /** Rows written so far. They are visible when the state is `succeeded`. */
  readonly rowsWritten: number
  /** Rows rejected so far. */
  readonly failed: number
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly result: ImportResult | null
  /** Result as in the response without the preference. */
  readonly error: {
    readonly message: string
    /** The rejected rows, at most the first 10,000. */
    readonly errors?: ReadonlyArray<ImportRowFault> | undefined
    readonly [name: string]: unknown
  } | null
}

export type Job = {
  readonly id: string
  readonly type: string
  /** Input of the job. Its type defines the fields. */
  readonly payload: {
    readonly [name: string]: unknown
  }
  readonly state: 'queued' | 'running' | 'completed' | 'failed' | 'canceled'
  readonly attempts: number
  readonly maxAttempts: number
  /** Error of the latest attempt; empty if it did not fail. */
  readonly lastError: string
  /** Time before which the job does not start. */
  readonly runAt: string
  /** Only while running: time at which another worker claims the job, unless its worker renews the lease. */
  readonly leaseUntil?: string | undefined
  readonly lastRunAt?: string | undefined
  /** Id of the schedule that added the job. */
  readonly scheduleId?: string | undefined
  /** Hash of the deploy of functions with which the job was queued. */
  readonly deploy?: string | undefined
  /** Key from `basalt.enqueue`, until the job starts for the first time. */
  readonly key?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** Time at which the job completed or failed. */
  readonly completedAt?: string | undefined
  readonly canceledAt?: string | undefined
}

export type JobList = {
  readonly items: ReadonlyArray<Job>
  readonly count: number
}

export type JobRun = {
  /** Number of the attempt. It starts at 1 again after a retry by an administrator. */
  readonly attempt: number
  readonly status: 'completed' | 'failed' | 'released'
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  /** First 1,000 characters. */
  readonly error?: string | undefined
  readonly result?: {
    /** Number of rows that the statement returned or changed. */
    readonly rows?: number | undefined
    /** Status code of the response. */
    readonly status?: number | undefined
  } | undefined
}

export type JobRunList = {
  readonly items: ReadonlyArray<JobRun>
  readonly count: number
}

export type JobsCountResult = {
  readonly queued: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  /** Seconds since the longest waiting job became due; 0 if none is due. */
  readonly oldestQueuedAgeSec: number
}

export type JobsEnqueueInput = {
  readonly type: string
  /** Input of the job. Its type defines the fields. */
  readonly payload?: {
    readonly [name: string]: unknown
  } | undefined
  /** Maximum number of attempts before the job fails. */
  readonly maxAttempts?: number | undefined
  /** Time of the first attempt, in RFC 3339 format. Default: now. */
  readonly runAt?: string | undefined
}

export type LimitedUsage = {
  readonly limit: number
  readonly used: number
  readonly remaining: number | null
}

export type ListedEvent = {
  /** Position of the change in the log. Later changes have higher ids. */
  readonly id: string
  /** Time at which the transaction began. */
  readonly happenedAt: string | null
  /** Action: create, update, delete or truncate. */
  readonly action: string
  readonly table: string
  /** Key of the record. The values of a composite key are joined by commas. */
  readonly record: string | null
  /** Key of the record before an update that changed the key. */
  readonly previousRecord: string | null
  /** Kind of caller: user, admin, anonymous, open or sql. */
  readonly actor: string | null
  readonly userId: string | null
  readonly apiKeyId: string | null
  /** `X-Request-Id` of the response to the request that wrote. */
  readonly requestId: string | null
  /** Number of webhooks by outcome of the event. */
  readonly deliveries: {
    readonly delivered: number
    readonly failed: number
    readonly pending: number
  }
}

export type ListedSql = {
  readonly id: string
  /** Name of the query. The parts before its slashes are folders. */
  readonly name: string
  readonly query: string
  readonly version: number
  readonly createdAt: string
  readonly updatedAt: string
  /** Length of the whole query in characters. */
  readonly queryLength: number
  /** True if the query, or the error of a run, is longer than here. A request by its id returns all of it. */
  readonly isCut: boolean
}

export type LoadedFunction = {
  /** Name of the export, or of the file for a default export. */
  readonly name: string
  readonly file: string
  /** `route`, `before`, `after`, `job`, `schedule` or `inbound`, for example. */
  readonly kind: string
  readonly method?: string | undefined
  /** Path of a route below `/api/functions`. */
  readonly path?: string | undefined
  /** Callers of a route: `anonymous`, `user` or `admin`. */
  readonly access?: string | undefined
  readonly table?: string | undefined
  readonly operations?: ReadonlyArray<string> | undefined
  /** Type of the job. */
  readonly job?: string | undefined
  /** Cron expression of a schedule. */
  readonly expression?: string | undefined
  readonly timezone?: string | undefined
  /** Name in the address of an inbound function. */
  readonly inbound?: string | undefined
  /** Identity of an inbound function: `anonymous` or `admin`. */
  readonly as?: string | undefined
  /** True if it may act as the administrator. */
  readonly admin?: boolean | undefined
  /** Time limit in seconds, if it has its own. */
  readonly timeout?: number | undefined
  readonly retries?: number | undefined
  /** JSON Schema of the input, if it is one. */
  readonly input?: {
    readonly [name: string]: unknown
  } | undefined
}

export type LogEntry = {
  readonly time: string
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'
  readonly message: string
  readonly attrs: {
    readonly [name: string]: unknown
  }
  /** Host and process. */
  readonly node: string
  readonly requestId: string | null
}

export type LoggedRequest = {
  readonly id: string
  readonly timestamp: string
  /** `WS` for an operation over a WebSocket. */
  readonly method: string
  readonly path: string
  readonly operation: string | null
  readonly status_code: number
  readonly duration_ms: number
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly app_id: string
  /** Bytes on the connection, including headers. */
  readonly request_size: number
  /** Bytes on the connection, including headers. */
  readonly response_size: number
  readonly ip_address: string | null
  readonly request_id: string
  /** Administrator who acted as the user. */
  readonly impersonated_by: string | null
  readonly node: string
}

export type LogsListResult = {
  readonly entries: ReadonlyArray<LogEntry>
  /** Missing on the last page. */
  readonly nextCursor?: string | undefined
  /** Time of the last entry read, if the search for a text ended the page. `nextCursor` continues there. */
  readonly searchedTo?: string | undefined
}

export type MailPatchTemplateInput = {
  readonly enabled: boolean
}

export type MailPatchTemplateResult = {
  readonly templateKey: string
  readonly enabled: boolean
}

export type MailPreviewTemplateInput = {
  /** One line with placeholders such as `{{.Name}}`. */
  readonly subjectTemplate: string
  /** HTML with placeholders in text and in attribute values. */
  readonly htmlTemplate: string
  /** Values by placeholder name. */
  readonly variables?: {
    readonly [name: string]: string
  } | undefined
}

export type MailPreviewTemplateResult = {
  readonly subject: string
  readonly html: string
  readonly text: string
}

export type MailPutTemplateInput = {
  /** One line with placeholders such as `{{.Name}}`. */
  readonly subjectTemplate: string
  /** HTML with placeholders in text and in attribute values. */
  readonly htmlTemplate: string
  /** Texts that the template must have, as read before. null means that only the built-in template, or none, may exist. Otherwise the response is 409. */
  readonly replaces?: {
    readonly subjectTemplate: string
    readonly htmlTemplate: string
  } | null | undefined
}

export type MailSendInput = {
  /** Words joined by dots, such as `auth.magic_link` or `shop.order_shipped`. */
  readonly templateKey: string
  /** Recipient, one address without a name. */
  readonly to: string
  /** Values by placeholder name. */
  readonly variables?: {
    readonly [name: string]: string
  } | undefined
}

export type MailSendOwnInput = {
  /** One address, or a list of at most `email.policy.max_recipients_per_request`. */
  readonly to: string | ReadonlyArray<string>
  /** Sender: the address of `email.from` or of `email.policy.allowed_from_addresses`. */
  readonly from?: string | undefined
  readonly subject?: string | undefined
  readonly html?: string | undefined
  readonly text?: string | undefined
  readonly templateKey?: string | undefined
  /** Values by placeholder name. */
  readonly variables?: object | undefined
}

export type MailSendOwnResult = {
  readonly sent: number
  readonly failed: number
  readonly errors: ReadonlyArray<{
    readonly to: string
    readonly error: string
  }>
}

export type MailSendResult = {
  readonly status: 'sent'
}

export type MailTemplate = MailTemplateSummary & {
  readonly htmlTemplate: string
}

export type MailTemplateSummary = {
  readonly templateKey: string
  readonly source: 'builtin' | 'custom'
  readonly subjectTemplate: string
  readonly enabled: boolean
  /** Names of the placeholders. */
  readonly variables: ReadonlyArray<string>
  readonly updatedAt?: string | undefined
}

export type MailTemplateSummaryList = {
  readonly items: ReadonlyArray<MailTemplateSummary>
  readonly count: number
}

export type Matview = {
  readonly id: string
  readonly schemaName: string
  readonly viewName: string
  readonly refreshMode: 'standard' | 'concurrent'
  /** null until the first refresh. */
  readonly lastRefreshAt: string | null
  readonly lastRefreshDurationMs: number | null
  readonly lastRefreshStatus: 'success' | 'error' | null
  readonly lastRefreshError: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type MatviewList = {
  readonly items: ReadonlyArray<Matview>
  readonly count: number
}

export type MatviewsRefreshResult = {
  readonly registration: Matview
  readonly durationMs: number
}

export type MatviewsRegisterInput = {
  readonly viewName: string
  readonly schema?: string | undefined
  /** `standard` blocks readers during the refresh. `concurrent` does not; it needs a unique index and a populated view. */
  readonly refreshMode?: 'standard' | 'concurrent' | undefined
}

export type MatviewsUpdateInput = {
  /** `standard` blocks readers during the refresh. `concurrent` does not; it needs a unique index and a populated view. */
  readonly refreshMode: 'standard' | 'concurrent'
}

export type Message = {
  readonly message: string
}

export type MfaChallengeEmailResult = {
  readonly challenge_id: string
}

export type MfaChallengeSmsResult = {
  readonly challenge_id: string
  readonly message: string
}

export type MfaChallengeTotpResult = {
  readonly challenge_id: string
}

export type MfaConfirmEmailInput = {
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaConfirmSmsInput = {
  /** Number in international form. */
  readonly phone?: string | undefined
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaConfirmTotpInput = {
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaCountBackupCodesResult = {
  readonly remaining: number
}

export type MfaEnrollSmsInput = {
  /** Number in international form. */
  readonly phone: string
}

export type MfaEnrollTotpResult = {
  readonly factor_id: string
  /** URI for a QR code. */
  readonly uri: string
  /** Secret in base32. It is shown only once. */
  readonly secret: string
}

export type MfaGenerateBackupCodesResult = {
  readonly codes: ReadonlyArray<string>
}

export type MfaListFactorsResult = {
  readonly factors: ReadonlyArray<Factor>
}

export type MfaRegenerateBackupCodesResult = {
  readonly codes: ReadonlyArray<string>
}

export type MfaVerifyBackupCodeInput = {
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaVerifyEmailInput = {
  readonly challenge_id: string
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaVerifySmsInput = {
  readonly challenge_id?: string | undefined
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MfaVerifyTotpInput = {
  readonly challenge_id: string
  /** Digits. Blanks and hyphens are ignored. */
  readonly code: string
}

export type MigrationStatus = {
  /** null where no folder can be written. */
  readonly folder: string | null
  readonly applied: ReadonlyArray<{
    readonly name: string
    readonly appliedAt: string
  }>
  readonly pending: ReadonlyArray<string>
  /** Reasons why nothing can be applied. */
  readonly obstacles: ReadonlyArray<string>
  /** Objects that were changed by other means than migrations. */
  readonly drift: number
}

export type OAuthClient = {
  readonly id: string
  readonly appId: string | null
  readonly clientId: string
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  readonly scopes: ReadonlyArray<OAuthScope>
  readonly clientType: 'confidential' | 'public'
  /** Origin of the registration: an administrator, the client itself (`registration`), or the `document` at the address that is its id. */
  readonly source: 'administrator' | 'registration' | 'document'
  readonly createdAt: string
  readonly updatedAt: string
  readonly revokedAt: string | null
  readonly activeAccessTokenCount: number
  readonly activeRefreshTokenCount: number
  readonly totalGrants: number
  readonly lastTokenIssuedAt: string | null
}

export type OAuthClientPage = {
  readonly items: ReadonlyArray<OAuthClient>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

/** RFC 6749 §5.2. */
export type OAuthError = {
  readonly error: string
  readonly error_description: string
}

export type OAuthGrant = {
  readonly id: string
  readonly clientId: string
  readonly clientName: string
  /** Scope as in tokens: `readonly email:send`. */
  readonly scope: string
  /** Empty means all collections. */
  readonly allowedTables: ReadonlyArray<string>
  readonly createdAt: string
  readonly updatedAt: string
  readonly lastTokenIssuedAt: string | null
}

export type OAuthGrantOfUser = {
  readonly id: string
  readonly clientId: string
  readonly clientName: string
  /** Scope as in tokens: `readonly email:send`. */
  readonly scope: string
  /** Empty means all collections. */
  readonly allowedTables: ReadonlyArray<string>
  readonly createdAt: string
  readonly updatedAt: string
  readonly lastTokenIssuedAt: string | null
  readonly userId: string
  /** Empty if the user has none. */
  readonly email: string
}

export type OAuthScope = string

export type OAuthTokenParameters = {
  readonly token: string
  readonly token_type_hint?: string | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  readonly [name: string]: unknown
}

export type OAuthTokenRequest = {
  readonly grant_type: 'authorization_code' | 'refresh_token' | 'client_credentials'
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  readonly code?: string | undefined
  readonly redirect_uri?: string | undefined
  readonly code_verifier?: string | undefined
  readonly refresh_token?: string | undefined
  readonly scope?: string | undefined
  readonly allowed_tables?: string | undefined
  readonly [name: string]: unknown
}

export type OAuthTokens = {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly refresh_token?: string | undefined
  readonly scope: string
  /** Collections that the token grants. Missing means all. */
  readonly allowed_tables?: ReadonlyArray<string> | undefined
}

export type OauthAuthorizeResult = {
  readonly requires_consent: true
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uri: string
  readonly scope: string
  readonly state: string
  readonly code_challenge: string
  readonly code_challenge_method: string
  readonly allowed_tables?: ReadonlyArray<string> | undefined
} | {
  readonly requires_consent: false
  readonly redirect_to: string
}

export type OauthAuthorizeResult401 = OAuthError | Error

export type OauthClientsCreateInput = {
  /** Name that users see. */
  readonly name: string
  readonly redirectUris: ReadonlyArray<RedirectUri>
  /** `readonly`, `readwrite`, `*`, and optionally actions: `email:send`, `sms:send`, `push:send`, `function:<name>`. `*` includes no actions. */
  readonly scopes: ReadonlyArray<OAuthScope>
  readonly appId: string
  readonly clientType?: 'confidential' | 'public' | undefined
}

export type OauthClientsCreateResult = {
  /** Secret, shown only once. Public clients have none. */
  readonly clientSecret?: string | undefined
  readonly client: OAuthClient
}

export type OauthClientsRotateSecretResult = {
  readonly clientSecret: string
}

export type OauthClientsUpdateInput = {
  /** Name that users see. */
  readonly name: string
  readonly redirectUris: ReadonlyArray<RedirectUri>
  /** `readonly`, `readwrite`, `*`, and optionally actions: `email:send`, `sms:send`, `push:send`, `function:<name>`. `*` includes no actions. */
  readonly scopes: ReadonlyArray<OAuthScope>
}

export type OauthConsentInput = {
  readonly response_type: 'code'
  readonly client_id: string
  /** One of the client's redirect addresses, character by character. */
  readonly redirect_uri: string
  /** One of `readonly`, `readwrite`, `*`, then actions: `readonly email:send`. */
  readonly scope: string
  /** Up to 2048 bytes, returned unchanged. */
  readonly state: string
  /** RFC 7636 §4.2. */
  readonly code_challenge: string
  readonly code_challenge_method: 'S256'
  readonly decision: 'approve' | 'deny'
  readonly allowed_tables?: ReadonlyArray<string> | null | undefined
  readonly resource?: string | undefined
}

export type OauthConsentResult = {
  readonly requires_consent: false
  readonly redirect_to: string
}

export type OauthConsentResult401 = OAuthError | Error

export type OauthIntrospectResult = {
  readonly active: boolean
  readonly [name: string]: unknown
}

export type OauthRegisterInput = {
  readonly redirect_uris: ReadonlyArray<RedirectUri>
  readonly client_name?: string | undefined
  /** Scopes of `auth.oauth_provider.self_registered_scopes`. Others are dropped. */
  readonly scope?: string | undefined
  readonly token_endpoint_auth_method?: 'client_secret_basic' | 'client_secret_post' | 'none' | undefined
  readonly grant_types?: ReadonlyArray<string> | undefined
  readonly response_types?: ReadonlyArray<string> | undefined
  readonly [name: string]: unknown
}

export type OauthRegisterResult = {
  readonly client_id: string
  readonly client_secret?: string | undefined
  readonly client_id_issued_at: number
  /** Never. */
  readonly client_secret_expires_at?: 0 | undefined
  readonly client_name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post' | 'none'
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly scope: string
}

/** Segments between slashes, with at most 1,024 bytes together. */
export type ObjectName = string

export type OverviewServerResult = {
  readonly version: string
  readonly isAuthRequired: boolean
  readonly database: DatabaseState
}

export type OverviewTablesResult = {
  readonly items: ReadonlyArray<TableSummary>
  /** Number of matches, of which `limit` are listed. */
  readonly count: number
}

/** Passkey. `last_used_at` is missing until it is used. */
export type Passkey = {
  readonly credential_id: Base64Url
  readonly display_name: string
  readonly transports: ReadonlyArray<string>
  readonly created_at: string
  readonly last_used_at?: string | undefined
}

export type PasskeyAssertion = {
  readonly challenge_id: string
  readonly assertion_response: PasskeyAssertionResponse & unknown
}

/** Result of `navigator.credentials.get`, by `toJSON()`. */
export type PasskeyAssertionResponse = {
  readonly id: Base64Url
  readonly rawId?: Base64Url | undefined
  readonly type: 'public-key'
  readonly response: {
    readonly clientDataJSON: Base64Url
    readonly authenticatorData: Base64Url
    readonly signature: Base64Url
    /** Base64url. */
    readonly userHandle?: string | null | undefined
  }
}

/** Result of `navigator.credentials.create`, by `toJSON()`. */
export type PasskeyAttestationResponse = {
  readonly id: Base64Url
  readonly rawId?: Base64Url | undefined
  readonly type: 'public-key'
  readonly response: {
    readonly clientDataJSON: Base64Url
    readonly attestationObject: Base64Url
    readonly transports?: ReadonlyArray<string> | undefined
  }
}

/** Options for `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export type PasskeyCreationOptions = {
  readonly rp: {
    readonly id: string
    readonly name: string
  }
  readonly user: {
    readonly id: Base64Url
    readonly name: string
    readonly displayName: string
  }
  readonly challenge: Base64Url
  readonly pubKeyCredParams: ReadonlyArray<{
    readonly type: 'public-key'
    readonly alg: number
  }>
  /** Milliseconds. */
  readonly timeout: number
  readonly excludeCredentials: ReadonlyArray<{
    readonly type: 'public-key'
    readonly id: Base64Url
    readonly transports?: ReadonlyArray<string> | undefined
  }>
  readonly authenticatorSelection: {
    readonly residentKey: 'preferred'
    readonly requireResidentKey: boolean
    readonly userVerification: 'preferred'
  }
  readonly attestation: 'none'
  readonly extensions: {
    readonly credProps: boolean
  }
}

export type PasskeyRequestOptions = {
  readonly challenge_id: string
  /** Options for `PublicKeyCredential.parseRequestOptionsFromJSON`. */
  readonly options: {
    readonly rpId: string
    readonly challenge: Base64Url
    /** Milliseconds. */
    readonly timeout: number
    readonly userVerification: 'required' | 'preferred'
    readonly allowCredentials?: ReadonlyArray<{
      readonly type: 'public-key'
      readonly id: Base64Url
      readonly transports?: ReadonlyArray<string> | undefined
    }> | undefined
  }
}

export type PasskeysBeginSignInInput = {
  readonly email: string
}

export type PasskeysConfirmInput = {
  /** Name that the user gave to the passkey. */
  readonly display_name?: string | undefined
  readonly attestation_response: PasskeyAttestationResponse & unknown
}

export type PasskeysListResult = {
  readonly credentials: ReadonlyArray<Passkey>
}

export type PasskeysRenameInput = {
  /** Name that the user gave to the passkey. */
  readonly display_name: string
}

export type PendingAdminSession = {
  readonly mfa_pending: true
  /** Token that is sent with the second factor. It is valid for five minutes. */
  readonly mfa_token: string
}

export type PendingAuthentication = {
  readonly mfa_pending: true
  /** Token for the endpoints of the second factor. It is valid for five minutes. */
  readonly mfa_token: string
}

export type PersistedDocument = {
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string
  readonly document: string
  readonly createdAt: string
}

export type PolicyCaseFile = {
  readonly name: string
  /** Content of the file in TOML. */
  readonly content: string
  /** Path of the file in the project; null if it was not written. */
  readonly path: string | null
}

export type PolicyComparison = {
  readonly policy: string
  readonly rows: number
  readonly callers: ReadonlyArray<{
    readonly label: string
    /** Gate that stops the caller before any policy. */
    readonly stopped?: string | undefined
    /** Rows that only the changed policy permits. */
    readonly shown: ReadonlyArray<string | null>
    /** Rows that the changed policy no longer permits. */
    readonly hidden: ReadonlyArray<string | null>
    /** Number of rows that both policies permit. */
    readonly kept: number
    /** Number of rows that neither policy permits. */
    readonly absent: number
    /** Errors of rows that could not be decided. */
    readonly errors: ReadonlyArray<string>
  }>
}

export type PolicyExplanation = {
  readonly as: CallerReference
  /** A collection. */
  readonly table: string
  /** Rows by their primary keys, as in the path of a record. */
  readonly ids?: ReadonlyArray<string> | undefined
  /** Rows by a filter, as in a list. Without ids and filter, the first rows. */
  readonly filter?: string | undefined
  /** Maximum number of rows. Default: 20. Update and delete use the first 10. */
  readonly limit?: number | undefined
  /** Default: `select`. */
  readonly action?: 'select' | 'insert' | 'update' | 'delete' | undefined
  /** Record or records of an insert; members that an update changes. */
  readonly values?: {
    readonly [name: string]: unknown
  } | ReadonlyArray<{
    readonly [name: string]: unknown
  }> | undefined
  /** Plan of the statement to include; `analyze` runs it. Default: `none`. */
  readonly plan?: 'none' | 'plan' | 'analyze' | undefined
  /** Reason to view data as a user, which the audit log stores. The role `support` needs one. */
  readonly reason?: string | undefined
}

export type ProviderIdentity = {
  readonly provider: string
  /** The provider's id of the person. */
  readonly subject: string
  readonly email: string | null
  readonly name: string | null
  /** True if the identity can sign in. False: it is linked, but not yet a sign-in method. */
  readonly proven: boolean
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

export type ProviderTokens = {
  readonly provider: string
  readonly subject: string
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  readonly expiresAt: string | null
  /** `failing`: the provider was unavailable, and the renewal will be retried. `revoked`: the user must sign in again. `none`: the provider sent no refresh token, or no expiry. */
  readonly renewal: 'active' | 'failing' | 'revoked' | 'none'
  readonly renewalFailedAt: string | null
}

export type PushContent = {
  readonly title: string
  readonly body: string
  readonly data?: PushData | undefined
  readonly options?: PushOptions | undefined
  /** RFC 3339 time. Default: now. */
  readonly send_at?: string | undefined
  /** A repeated key of an app returns the first message. */
  readonly idempotency_key?: string | undefined
}

export type PushCounts = {
  readonly pending: number
  readonly sent: number
  readonly failed: number
  readonly invalid_token: number
}

/** Values for the app. */
export type PushData = object

export type PushDelivery = {
  readonly id: string
  readonly send_id: string
  readonly device_token_id: string
  readonly job_id: string | null
  readonly app_id: string
  readonly user_id: string
  readonly provider: 'fcm' | 'apns' | 'webpush'
  readonly title: string
  readonly body: string
  readonly data: {
    readonly [name: string]: string
  }
  readonly options: PushOptions
  readonly status: 'pending' | 'sent' | 'failed' | 'invalid_token'
  readonly attempts: number
  readonly error_code: 'unregistered' | 'invalid_token' | 'provider_auth' | 'payload_too_large' | 'provider_error' | 'provider_not_configured' | 'expired' | 'device_moved' | null
  readonly error_message: string | null
  readonly provider_message_id: string | null
  readonly send_at: string
  readonly sent_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type PushDevice = {
  readonly id: string
  readonly app_id: string
  readonly user_id: string
  readonly provider: 'fcm' | 'apns' | 'webpush'
  readonly platform: 'android' | 'ios' | 'web'
  readonly token: string
  readonly device_name: string
  readonly topics: ReadonlyArray<string>
  readonly is_active: boolean
  /** `revoked`, also by the end of the session that registered it, or the provider's reason. */
  readonly inactive_reason: string | null
  readonly last_refreshed_at: string
  readonly last_used: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type PushGetWebPushKeyResult = {
  /** Missing without credentials of Web Push. */
  readonly public_key?: string | undefined
}

export type PushListDeliveriesResult = {
  readonly items: ReadonlyArray<PushDelivery>
}

export type PushListDevicesResult = {
  readonly items: ReadonlyArray<PushDevice>
}

export type PushListOwnDevicesResult = {
  readonly items: ReadonlyArray<PushDevice>
}

export type PushListProvidersResult = {
  readonly items: ReadonlyArray<PushProvider>
}

export type PushOptions = {
  /** Number on the app's icon. */
  readonly badge?: number | undefined
  /** Name of a sound of the app, or `default`. */
  readonly sound?: string | undefined
  /** Seconds for which the provider keeps the message for an unreachable device. */
  readonly ttl_seconds?: number | undefined
  /** Default: high. */
  readonly priority?: 'high' | 'normal' | undefined
  /** Key of at most 64 bytes. A device shows the latest message with one key. */
  readonly collapse_key?: string | undefined
  /** Address with https. */
  readonly image?: string | undefined
}

export type PushProvider = {
  readonly provider: 'fcm' | 'apns' | 'webpush'
  /** Origin of the credentials. */
  readonly source: 'database' | 'configuration' | null
  /** Destination of messages. It is `log` in development without credentials. */
  readonly sends: 'provider' | 'log' | 'nothing'
  /** Members of the credentials that are not secret. */
  readonly details: {
    readonly [name: string]: unknown
  } | null
}

export type PushRegisterDeviceInput = {
  readonly app_id: string
  readonly user_id: string
  readonly provider: 'fcm' | 'apns' | 'webpush'
  readonly platform: 'android' | 'ios' | 'web'
  /** Token of the device. For `webpush` it is the endpoint, a URL. */
  readonly token: string
  readonly device_name?: string | undefined
  /** Replaces the topics of the device. */
  readonly topics?: ReadonlyArray<string> | undefined
  /** Required for `webpush`, and not allowed for other providers. */
  readonly keys?: {
    readonly p256dh?: string | undefined
    readonly auth?: string | undefined
  } | undefined
}

export type PushRegisterOwnDeviceInput = {
  readonly app_id: string
  readonly provider: 'fcm' | 'apns' | 'webpush'
  readonly platform: 'android' | 'ios' | 'web'
  /** Token of the device. For `webpush` it is the endpoint, a URL. */
  readonly token: string
  readonly device_name?: string | undefined
  /** Replaces the topics of the device. */
  readonly topics?: ReadonlyArray<string> | undefined
  /** Required for `webpush`, and not allowed for other providers. */
  readonly keys?: {
    readonly p256dh?: string | undefined
    readonly auth?: string | undefined
  } | undefined
}

export type PushSend = {
  readonly id: string
  readonly app_id: string
  readonly topic: string | null
  readonly title: string
  readonly body: string
  readonly send_at: string
  readonly created_at: string
  readonly counts: PushCounts
}

export type PushSendAsProgramInput = PushContent & {
  /** App of the program. */
  readonly app_id?: string | undefined
  readonly user_id?: string | undefined
  readonly topic?: string | undefined
}

export type PushSendAsProgramResult = {
  readonly send_id: string
  /** Number of the user's devices. 0 for a topic. */
  readonly count: number
}

export type PushSendInput = PushContent & {
  readonly app_id: string
  readonly user_id?: string | undefined
  readonly topic?: string | undefined
}

export type PushSendResult = {
  readonly send_id: string
  readonly deliveries: ReadonlyArray<PushDelivery>
}

export type PushSendToDeviceInput = PushContent & {
  /** Id of the device. */
  readonly token_id: string
}

export type RealtimeConnection = {
  /** The `clientId` of the event `connected`. */
  readonly id: string
  readonly transport: 'sse' | 'ws'
  /** Id of the user. null for administrators, for programs that act for no user, for requests without a token, and while auth is off. */
  readonly userId: string | null
  readonly address: string
  readonly node: string
  readonly tables: ReadonlyArray<string>
  readonly channels: ReadonlyArray<string>
  readonly connectedAt: string
}

export type RealtimeConnectionList = {
  readonly items: ReadonlyArray<RealtimeConnection>
  readonly count: number
}

export type RealtimePreview = {
  readonly items: ReadonlyArray<{
    /** Id of the event. */
    readonly id: string
    readonly happenedAt: string
    /** JSON body that a stream receives. */
    readonly data: string
  }>
  /** Number of changes of the tables that were decided. */
  readonly decided: number
  /** True if some changes could not be decided. */
  readonly hasGap: boolean
  readonly nextCursor?: string | undefined
}

export type RealtimeStats = {
  readonly version: string
  readonly timestamp: string
  readonly connections: {
    readonly sse: number
    readonly ws: number
    readonly total: number
  }
  readonly subscriptions: {
    /** Number of streams by name. */
    readonly tables: {
      readonly [name: string]: number
    }
    readonly channels: {
      /** Number of streams by name. */
      readonly broadcast: {
        readonly [name: string]: number
      }
      /** Number of streams by name. */
      readonly presence: {
        readonly [name: string]: number
      }
    }
  }
  readonly counters: {
    /** Streams ended and messages dropped because of slow clients. */
    readonly dropped_messages: number
    /** WebSockets that did not respond to a ping in time. */
    readonly heartbeat_failures: number
  }
}

export type RealtimeSubscription = {
  readonly kind: 'table' | 'channel'
  readonly name: string
  readonly connections: number
}

export type RealtimeSubscriptionList = {
  readonly items: ReadonlyArray<RealtimeSubscription>
  readonly count: number
}

export type RecordPage = {
  readonly items: ReadonlyArray<TableRecord>
  readonly perPage: number
  /** Absent with `cursor`, as are the totals. */
  readonly page?: number | undefined
  /** -1 with `skipTotal=true`. */
  readonly totalItems?: number | undefined
  /** -1 with `skipTotal=true`. */
  readonly totalPages?: number | undefined
  /** Cursor of the next page, with `cursor`. Absent on the last page. */
  readonly nextCursor?: string | undefined
  /** Number of matches that were ranked, in a search by rank with more matches than `search.rank_limit`. Totals and pages cover only these. */
  readonly searchExhaustive?: false | undefined
  readonly facets?: FacetCounts | undefined
  readonly facetStats?: FacetRanges | undefined
  /** Facets that have more values than `api.max_facet_buckets`, each with `false`. */
  readonly facetsExhaustive?: {
    readonly [name: string]: boolean
  } | undefined
}

export type RecordsDeleteResult = {
  readonly deleted: number
  /** Present with `return=records`. */
  readonly items?: ReadonlyArray<TableRecord> | undefined
}

export type RecordsUpdateResult = {
  readonly updated: number
  /** Present with `return=records`. */
  readonly items?: ReadonlyArray<TableRecord> | undefined
}

export type RedirectUri = string

export type ResumableUpload = {
  readonly id: string
  readonly bucket: string
  readonly name: string
  /** Bytes. */
  readonly totalSize: number
  readonly status: 'active' | 'completed'
  /** Seconds since 1970; 24 hours after the last bytes came. */
  readonly expiresAt: number
  readonly uploadType: 'resumable'
}

export type SavedSql = {
  readonly id: string
  /** Name of the query. The parts before its slashes are folders. */
  readonly name: string
  readonly query: string
  readonly version: number
  readonly createdAt: string
  readonly updatedAt: string
}

export type Schedule = {
  readonly id: string
  readonly name: string
  readonly jobType: string
  /** Input of the job. Its type defines the fields. */
  readonly payload: {
    readonly [name: string]: unknown
  }
  /** Minute, hour, day of the month, month and weekday, such as `*\/15 9-17 * * mon-fri`. */
  readonly cronExpr: string
  /** IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone: string
  /** True if the schedule adds jobs. Default: true. */
  readonly enabled: boolean
  readonly maxAttempts: number
  /** True if a function of the project defines the schedule. It can only be enabled and disabled. */
  readonly isOfFunction: boolean
  /** Time of the next run; null while the schedule is disabled. */
  readonly nextRunAt: string | null
  readonly lastRunAt?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
}

export type ScheduleList = {
  readonly items: ReadonlyArray<Schedule>
  readonly count: number
}

export type SchedulesCreateInput = {
  /** Name of the schedule. Unique. */
  readonly name: string
  readonly jobType: string
  /** Minute, hour, day of the month, month and weekday, such as `*\/15 9-17 * * mon-fri`. */
  readonly cronExpr: string
  /** IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined
  /** True if the schedule adds jobs. Default: true. */
  readonly enabled?: boolean | undefined
  /** Input of the job. Its type defines the fields. */
  readonly payload?: {
    readonly [name: string]: unknown
  } | undefined
  /** Maximum number of attempts before the job fails. */
  readonly maxAttempts?: number | undefined
}

export type SchedulesUpdateInput = {
  readonly name?: string | undefined
  readonly jobType?: string | undefined
  /** Maximum number of attempts before the job fails. */
  readonly maxAttempts?: number | undefined
  /** Minute, hour, day of the month, month and weekday, such as `*\/15 9-17 * * mon-fri`. */
  readonly cronExpr?: string | undefined
  /** IANA time zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timezone?: string | undefined
  /** True if the schedule adds jobs. Default: true. */
  readonly enabled?: boolean | undefined
  /** Input of the job. Its type defines the fields. */
  readonly payload?: {
    readonly [name: string]: unknown
  } | undefined
}

export type Schema = {
  /** Tables by `schema.table`. */
  readonly tables: {
    readonly [name: string]: {
      readonly [name: string]: unknown
    }
  }
  /** Functions by `schema.function`. */
  readonly functions: {
    readonly [name: string]: {
      readonly [name: string]: unknown
    }
  }
  readonly schemas: ReadonlyArray<string>
  readonly hasPostGIS: boolean
  readonly postGISVersion?: string | undefined
  readonly hasPostGISRaster: boolean
  readonly postGISRasterVersion?: string | undefined
  readonly postGISExtensions?: ReadonlyArray<string> | undefined
  readonly hasPgVector: boolean
  readonly hasPgTrgm: boolean
  readonly builtAt: string
}

export type SchemaChange = {
  readonly kind: string
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly before?: string | undefined
  readonly after?: string | undefined
}

export type SearchChange = {
  readonly collection: string
  /** State that was last requested; null if none. */
  readonly isEnabled: boolean | null
  /** True if every search has an index. */
  readonly isIndexed: boolean
  readonly indexes: ReadonlyArray<SearchIndex>
  readonly lastBuild: {
    readonly at: string
    readonly durationMs: number | null
    readonly error: string | null
  } | null
  /** Command that would help. */
  readonly advice: string | null
  /** Indexes built by this request. */
  readonly built: ReadonlyArray<string>
  readonly dropped: ReadonlyArray<string>
  readonly durationMs: number
}

export type SearchDescription = {
  readonly collection: string
  /** State that was last requested; null if none. */
  readonly isEnabled: boolean | null
  /** True if every search has an index. */
  readonly isIndexed: boolean
  readonly indexes: ReadonlyArray<SearchIndex>
  readonly lastBuild: {
    readonly at: string
    readonly durationMs: number | null
    readonly error: string | null
  } | null
  /** Command that would help. */
  readonly advice: string | null
  /** Reason why it cannot have an index. */
  readonly obstacle: string | null
  /** Text search configuration, which decides which words have the same stem. */
  readonly textSearchConfig: string
  /** True if pg_trgm is installed, which `fuzzy` needs. */
  readonly hasTrigrams: boolean
  readonly columns: ReadonlyArray<{
    readonly name: string
    readonly isSearchable: boolean
    /** True if `customRanking` can name the column. */
    readonly isRankable: boolean
  }>
  readonly source: {
    /** Estimate of the planner. */
    readonly estimatedRows: number | null
    readonly tableBytes: number
    /** Size of the searchable columns; null before the first `analyze`. */
    readonly textBytes: number | null
  }
}

export type SearchIndex = {
  readonly name: string
  /** `trigrams` supports fuzzy searches. */
  readonly kind: 'words' | 'trigrams'
  /** `invalid` after an interrupted build. */
  readonly state: 'valid' | 'building' | 'invalid'
  readonly sizeBytes: number
  /** Progress from 0 to 1 during a build. */
  readonly progress: number | null
}

export type SearchIndexStatus = {
  readonly collection: string
  /** State that was last requested; null if none. */
  readonly isEnabled: boolean | null
  /** True if every search has an index. */
  readonly isIndexed: boolean
  readonly indexes: ReadonlyArray<SearchIndex>
  readonly lastBuild: {
    readonly at: string
    readonly durationMs: number | null
    readonly error: string | null
  } | null
  /** Command that would help. */
  readonly advice: string | null
}

export type SearchListResult = {
  readonly items: ReadonlyArray<SearchIndexStatus>
}

export type SearchSettings = {
  readonly attributes: ReadonlyArray<{
    readonly column: string
    readonly weight: 'high' | 'medium' | 'low' | 'lowest'
  }>
  readonly customRanking: ReadonlyArray<{
    readonly column: string
    readonly order: 'asc' | 'desc'
  }>
  /** True if `apfel` also finds Äpfel. */
  readonly ignoreAccents: boolean
}

export type SearchSettingsInput = {
  /** At most 32. Text columns that are not named have the lowest weight. */
  readonly attributes?: ReadonlyArray<{
    readonly column?: string | undefined
    readonly weight?: 'high' | 'medium' | 'low' | 'lowest' | undefined
  }> | undefined
  /** At most 32 columns that sort records of the same rank. */
  readonly customRanking?: ReadonlyArray<{
    readonly column?: string | undefined
    readonly order?: 'asc' | 'desc' | undefined
  }> | undefined
  /** True if `apfel` also finds Äpfel. Without a value, it stays as it is. */
  readonly ignoreAccents?: boolean | undefined
}

export type SearchSynonyms = {
  readonly groups: ReadonlyArray<{
    readonly terms: ReadonlyArray<string>
  }>
}

export type SearchSynonymsInput = {
  /** An empty list removes all. Groups have 2 to 8 terms, each of at most 128 characters. */
  readonly groups: ReadonlyArray<{
    readonly terms?: ReadonlyArray<string> | undefined
  }>
}

export type Secret = {
  readonly name: string
  readonly updatedAt: string
}

export type SecretList = {
  readonly items: ReadonlyArray<Secret>
  readonly count: number
}

export type SecretsSetInput = {
  readonly value: string
}

export type SentMail = {
  readonly id: string
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly template_key: string | null
  readonly status: 'pending' | 'sent' | 'failed'
  readonly error_message: string | null
  readonly created_at: string
}

export type SentMailSlice = {
  readonly items: ReadonlyArray<SentMail>
  /** Items in this response. */
  readonly count: number
  readonly limit: number
  readonly offset: number
}

export type ServerReport = {
  /** The last hour by minute. */
  readonly hour: ReadonlyArray<TrafficPoint>
  /** The last 24 hours by hour. */
  readonly day: ReadonlyArray<TrafficPoint>
  /** New users of the last 14 days (UTC), at most 100,000 a day. */
  readonly signUps: ReadonlyArray<{
    readonly day: string
    readonly count: number
  }>
  /** Bytes of stored files. null if none is stored. */
  readonly storedBytes: number | null
  /** Open streams of all nodes. */
  readonly streams: number
  /** Newest backup of `basalt backup`. null if there is none. */
  readonly backup: {
    readonly finishedAt: string
    readonly bytes: number
  } | null
  /** First steps that are done. */
  readonly steps: {
    readonly table: boolean
    readonly policy: boolean
    readonly user: boolean
    /** A program has called the API. */
    readonly app: boolean
  }
}

export type Session = {
  readonly id: string
  readonly user_agent: string
  readonly ip_address: string
  readonly created_at: string
  readonly last_active_at: string
  /** True for the session of this request. */
  readonly current: boolean
  /** Administrator who acts as the user in this session. */
  readonly impersonated_by?: string | undefined
}

export type SignInProvider = {
  readonly name: string
  readonly type: 'builtin' | 'oidc'
  readonly display_name: string
  readonly enabled: boolean
  readonly client_id_configured: boolean
  readonly client_secret_configured: boolean
  readonly store_provider_tokens: boolean
  /** First missing setting that the provider requires. */
  readonly missing: string | null
  /** True if an administrator has changed the configuration of the provider. */
  readonly changed: boolean
  /** Callback address to register at the provider. */
  readonly callback_url: string
}

export type SignedAddress = {
  /** Relative to the server. */
  readonly url: string
}

export type Site = {
  readonly id: string
  readonly name: string
  /** First label of the site host. */
  readonly slug: string
  /** True to return `index.html` for navigations to missing paths. */
  readonly spaMode: boolean
  readonly customDomainId?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  readonly liveDeployId?: string | undefined
  /** Address for visitors. Missing while `sites.base_domain` is empty. */
  readonly url?: string | undefined
}

export type SitePage = {
  readonly sites: ReadonlyArray<Site>
  readonly totalCount: number
  readonly page: number
  readonly perPage: number
}

export type SitesAddFilesInput = {
  readonly files: ReadonlyArray<{
    readonly path: string
    /** SHA-256 of the content, in hexadecimal. */
    readonly sha256: string
    readonly size: number
  }>
}

export type SitesAddFilesResult = {
  readonly missing: ReadonlyArray<string>
}

export type SitesCheckTlsResult = {
  readonly domain: string
}

export type SitesCreateInput = {
  readonly name: string
  /** DNS label. */
  readonly slug: string
  readonly spaMode?: boolean | undefined
  readonly customDomainId?: string | undefined
}

export type SitesFailDeployInput = {
  readonly errorMessage?: string | undefined
}

export type SitesUpdateInput = {
  readonly name?: string | undefined
  readonly spaMode?: boolean | undefined
  readonly customDomainId?: string | undefined
  /** True to detach the custom domain. Not allowed with `customDomainId`. */
  readonly clearCustomDomain?: boolean | undefined
}

export type SitesUploadFileForm = {
  readonly name?: string | undefined
  readonly file: string
}

export type SmsHealthResult = {
  readonly today: SmsPeriod
  readonly last_7d: SmsPeriod
  readonly last_30d: SmsPeriod
  /** `low conversion rate` when it is below 10 % today. */
  readonly warning?: string | undefined
}

export type SmsMessage = {
  readonly id: string
  /** Sender. null for codes and messages of administrators. */
  readonly user_id: string | null
  /** E.164. */
  readonly to: string
  /** Text in which codes are replaced by `[redacted]`. */
  readonly body: string
  readonly provider: string
  /** Id at the provider. null until the provider has accepted the message. */
  readonly message_id: string | null
  readonly status: 'pending' | 'accepted' | 'queued' | 'sending' | 'sent' | 'delivered' | 'undelivered' | 'failed' | 'canceled'
  /** Reason of a failure. */
  readonly error_message: string | null
  readonly created_at: string
  readonly updated_at: string
}

export type SmsMessagePage = {
  readonly items: ReadonlyArray<SmsMessage>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
  /** True: `totalItems` and `totalPages` are estimates, beyond 100,000. */
  readonly isTotalEstimated?: boolean | undefined
}

export type SmsPeriod = {
  readonly sent: number
  /** Number of messages that the provider reported as delivered. */
  readonly confirmed: number
  readonly failed: number
  /** Percentage of the sent messages that are confirmed. */
  readonly conversion_rate: number
}

export type SmsSendInput = {
  /** Number in international form. */
  readonly to: string
  readonly body: string
}

export type SmsSendOwnInput = {
  /** Number in international form. */
  readonly to: string
  readonly body: string
}

export type SmsSendResult = {
  readonly id: string
  /** Id at the provider. */
  readonly message_id: string | null
  readonly status: 'pending' | 'accepted' | 'queued' | 'sending' | 'sent' | 'delivered' | 'undelivered' | 'failed' | 'canceled'
  readonly to: string
}

export type SocialLoginBeginLinkInput = {
  /** Name of a provider such as `google`, or of an OpenID provider. */
  readonly provider: string
  /** Address to return to: a path, or an address on an allowed host. */
  readonly redirect_to?: string | undefined
}

export type SocialLoginBeginLinkResult = {
  readonly url: string
}

export type SocialLoginFinishFormForm = {
  readonly state?: string | undefined
  readonly code?: string | undefined
  /** JSON with the name, at the first sign-in. */
  readonly user?: string | undefined
  readonly error?: string | undefined
}

export type SocialLoginFinishFormResult = Authentication | PendingAuthentication

export type SocialLoginFinishResult = Authentication | PendingAuthentication

export type SocialLoginLinkInput = {
  /** Name of a provider such as `google`, or of an OpenID provider. */
  readonly provider: string
  /** The provider's token, issued to this server's client. */
  readonly access_token?: string | undefined
  /** The id_token, for Apple, whose access tokens identify no user. */
  readonly id_token?: string | undefined
}

export type SocialLoginUnlinkInput = {
  /** Name of a provider such as `google`, or of an OpenID provider. */
  readonly provider: string
}

export type SocialProvidersListResult = {
  readonly providers: ReadonlyArray<SignInProvider>
}

export type SocialProvidersTestResult = {
  readonly success: boolean
  readonly message: string
  /** Callback address to register at the provider. */
  readonly callback_url: string
}

export type SocialProvidersUpdateInput = {
  readonly enabled?: boolean | undefined
  /** Id of the client. */
  readonly client_id?: string | undefined
  /** Secret of the client. It is stored encrypted. */
  readonly client_secret?: string | undefined
  readonly store_provider_tokens?: boolean | undefined
}

/** Identity of the run. Policies apply to users and to requests without a token. */
export type SqlCaller = {
  /** Default: `administrator`. */
  readonly kind?: 'administrator' | 'user' | 'anonymous' | undefined
  /** Required for a user. */
  readonly userId?: string | undefined
  /** Email address in the claims. */
  readonly email?: string | undefined
  readonly emailVerified?: boolean | undefined
  /** Default: `aal1`. */
  readonly aal?: 'aal1' | 'aal2' | undefined
  readonly isAnonymous?: boolean | undefined
}

export type SqlCancelResult = {
  readonly id: string
}

export type SqlChangeSavedInput = {
  readonly name?: string | undefined
  readonly query?: string | undefined
  /** Version of the query as it was read. Another version is a conflict. */
  readonly version: number
}

export type SqlExplainInput = {
  readonly query: string
  /** `read` (default): a read-only role in a read-only transaction. `write`: the login role of the server for owners, `basalt_developer` for developers. */
  readonly mode?: 'read' | 'write' | undefined
  readonly runAs?: SqlCaller | undefined
  /** Values of `$1` and so on: a text, number, boolean or null, or `{ "value": …, "type": "int8" }`. */
  readonly parameters?: ReadonlyArray<unknown> | undefined
  /** Seconds for the whole run. Default: 30. Maximum: 600. */
  readonly timeoutSeconds?: number | undefined
  readonly analyze?: boolean | undefined
}

export type SqlExplainResult = {
  /** Plan as EXPLAIN (FORMAT JSON) returns it. */
  readonly plan: unknown
  readonly durationMs: number
}

export type SqlListRunsResult = {
  readonly items: ReadonlyArray<SqlRun>
  /** Absent on the last page. */
  readonly nextCursor?: string | undefined
}

export type SqlListSavedResult = {
  readonly items: ReadonlyArray<ListedSql>
  /** Absent on the last page. */
  readonly nextCursor?: string | undefined
}

export type SqlListSchemasResult = {
  readonly items: ReadonlyArray<string>
}

export type SqlListTabsResult = {
  readonly items: ReadonlyArray<{
    readonly id: string
    /** Text of the tab. */
    readonly text: string
  }>
}

export type SqlNotice = {
  readonly statement: number
  readonly message: string
  readonly severity?: string | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
}

export type SqlPutTabInput = {
  /** Text of the tab. */
  readonly text: string
}

export type SqlResult = {
  readonly id: string
  readonly columns: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<unknown>>
  /** Number of rows returned or changed. */
  readonly rowCount: number
  readonly durationMs: number
  /** Command tag such as `INSERT 0 3`. */
  readonly command: string | null
  /** True if there are more rows than `maxRows` or than fit in the response. */
  readonly hasMore: boolean
  readonly statements: number
  readonly notices: ReadonlyArray<SqlNotice>
}

export type SqlRun = {
  readonly id: string
  /** Query text with passwords as `[redacted]`. */
  readonly query: string
  /** Length of the whole query in characters. */
  readonly queryLength: number
  /** True if the query, or the error of a run, is longer than here. A request by its id returns all of it. */
  readonly isCut: boolean
  readonly mode: 'read' | 'write'
  readonly runAs: string
  /** `interrupted` when its server has died. */
  readonly status: 'running' | 'succeeded' | 'failed' | 'canceled' | 'interrupted'
  readonly error: string | null
  readonly statements: number
  readonly rowCount: number | null
  readonly durationMs: number | null
  readonly startedAt: string
}

export type SqlRunInput = {
  readonly query: string
  /** `read` (default): a read-only role in a read-only transaction. `write`: the login role of the server for owners, `basalt_developer` for developers. */
  readonly mode?: 'read' | 'write' | undefined
  readonly runAs?: SqlCaller | undefined
  /** Values of `$1` and so on: a text, number, boolean or null, or `{ "value": …, "type": "int8" }`. */
  readonly parameters?: ReadonlyArray<unknown> | undefined
  /** Seconds for the whole run. Default: 30. Maximum: 600. */
  readonly timeoutSeconds?: number | undefined
  /** Id by which the run can be canceled. Default: chosen by the server. */
  readonly id?: string | undefined
  /** `all` (default): one transaction for all statements. `each`: one transaction for each statement. */
  readonly transaction?: 'all' | 'each' | undefined
  /** Rows of each statement. Default: 1000. Maximum: 10000. */
  readonly maxRows?: number | undefined
}

export type SqlSaveInput = {
  readonly name: string
  readonly query: string
}

export type SqlSchemaNames = {
  readonly schema: string
  readonly relations: ReadonlyArray<{
    readonly name: string
    readonly kind: string
    readonly columns: ReadonlyArray<string>
  }>
  readonly functions: ReadonlyArray<string>
}

export type Statement = {
  readonly query: string
  readonly calls: number
  readonly total_time_ms: number
  readonly mean_time_ms: number
  readonly rows: number
  readonly cache_hit_ratio: number | null
}

export type StatsGetResult = {
  readonly uptime_seconds: number
  readonly node: string
  readonly node_version: string
  readonly active_resources: number
  /** Heap in use in bytes. */
  readonly memory_alloc: number
  /** Resident memory of the process in bytes. */
  readonly memory_sys: number
  readonly gc_cycles: number
  readonly db_pool_total: number
  readonly db_pool_idle: number
  readonly db_pool_in_use: number
  readonly db_pool_max: number
}

export type StorageApplyTemplateInput = {
  /** Default: all buckets; `bucket-scoped` requires it. */
  readonly bucket?: string | undefined
}

export type StorageCopyInput = {
  /** Default: the same bucket. */
  readonly bucket?: string | undefined
  readonly name: ObjectName
}

export type StorageCreateBucketInput = {
  readonly name: string
  readonly public?: boolean | undefined
  /** Bytes; null: as configured. */
  readonly maxFileSize?: number | null | undefined
  /** Media types such as `image/png` and `image/*`; null: all. */
  readonly allowedTypes?: ReadonlyArray<string> | null | undefined
}

export type StorageMoveInput = {
  /** Default: the same bucket. */
  readonly bucket?: string | undefined
  readonly name: ObjectName
}

export type StorageObject = {
  readonly id: string
  readonly bucket: string
  readonly name: string
  /** Bytes. */
  readonly size: number
  /** Type of the content, whatever the upload said. */
  readonly contentType: string
  /** User who made it. */
  readonly userId?: string | undefined
  readonly createdAt: string
  readonly updatedAt: string
  /** In a public bucket: public address of the content. */
  readonly url?: string | undefined
}

export type StorageObjectList = {
  readonly items: ReadonlyArray<StorageObject>
  readonly prefixes?: ReadonlyArray<string> | undefined
  /** Objects and prefixes of all pages; -1 where they are not counted. Counting ends at 10,000 objects, with a delimiter at 1,000 objects and prefixes. */
  readonly totalItems: number
  /** There are more than `totalItems`. */
  readonly isTotalBounded?: boolean | undefined
  /** Where there are more. */
  readonly nextCursor?: string | undefined
}

export type StorageQuota = {
  readonly usage_bytes: number
  /** 0: no limit. */
  readonly quota_bytes: number
  /** null: as configured. */
  readonly quota_mb: number | null
}

export type StorageRevokeAddressesResult = {
  /** Addresses that were ended. */
  readonly revoked: number
}

export type StorageSetQuotaInput = {
  /** MiB; 0: no limit; null: as configured. */
  readonly quota_mb: number | null
}

export type StorageSignInput = {
  /** Seconds. */
  readonly expiresIn?: number | undefined
}

export type StorageSignUploadInput = {
  /** Seconds. */
  readonly expiresIn?: number | undefined
}

export type StorageUpdateBucketInput = {
  readonly public?: boolean | undefined
  /** Bytes; null: as configured. */
  readonly maxFileSize?: number | null | undefined
  /** Media types such as `image/png` and `image/*`; null: all. */
  readonly allowedTypes?: ReadonlyArray<string> | null | undefined
}

export type StorageUploadForm = {
  readonly name?: ObjectName | undefined
  readonly file: string
}

export type StructureApplyInput = {
  /** `kind`, `schema`, `name` and the members of the kind: create_table, rename_table, comment_table, drop_relation, add_column, alter_column, drop_column, set_row_level_security, set_grants, create_index, drop_index, add_primary_key, add_unique, add_check, add_foreign_key, validate_constraint, rename_constraint, drop_constraint, create_enum, add_enum_value, rename_enum_value, rename_type, drop_type, apply_template, create_policy, alter_policy, drop_policy, drop_trigger, set_trigger, drop_function. */
  readonly change?: {
    readonly [name: string]: unknown
  } | undefined
  /** Script, instead of a change. */
  readonly sql?: string | undefined
  /** Purpose, such as `add todo`, from which the file name is derived. */
  readonly name: string
  /** Version of the plan. The response is 409 when the structure has changed since. */
  readonly version?: string | undefined
}

export type StructureColumn = {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
  readonly default: string | null
  readonly identity: 'always' | 'by default' | null
  /** Its expression. */
  readonly generated: string | null
  readonly comment: string | null
}

export type StructureConstraint = {
  readonly name: string
  readonly kind: string
  readonly definition: string
  readonly columns: ReadonlyArray<string>
  readonly isValidated: boolean
  readonly references: {
    readonly schema: string
    readonly name: string
    readonly columns: ReadonlyArray<string>
  } | null
}

export type StructureDiagram = {
  /** Number of tables. It exceeds the listed ones when they are too many. */
  readonly count: number
  readonly tables: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly columns: ReadonlyArray<{
      readonly name: string
      readonly type: string
      readonly isKey: boolean
    }>
  }>
  readonly references: ReadonlyArray<{
    readonly name: string
    readonly from: {
      readonly schema: string
      readonly name: string
      readonly columns: ReadonlyArray<string>
    }
    readonly to: {
      readonly schema: string
      readonly name: string
      readonly columns: ReadonlyArray<string>
    }
  }>
}

export type StructureIndex = {
  readonly name: string
  readonly definition: string
  readonly method: string
  readonly isUnique: boolean
  readonly isPrimary: boolean
  /** false if it was built concurrently and failed. */
  readonly isValid: boolean
  /** Constraint that the index belongs to. */
  readonly constraint: string | null
  readonly condition: string | null
  readonly bytes: number
  /** Scans since the statistics were reset. */
  readonly scans: number
}

export type StructureListResult = {
  readonly items: ReadonlyArray<StructureRelationSummary>
  readonly next: {
    readonly schema: string
    readonly name: string
  } | null
}

export type StructureLock = {
  readonly relation: string
  readonly mode: string
  readonly blocks: 'reads and writes' | 'writes' | 'changes of the schema'
  /** From the statement that took it to the end of the transaction. */
  readonly heldMs: number
  readonly line: number
}

export type StructureMigrationResult = {
  readonly name: string
  readonly content: string
}

export type StructureObjects = {
  readonly schemas: ReadonlyArray<{
    readonly name: string
    readonly isServed: boolean
  }>
  readonly enums: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly comment: string | null
    readonly values: ReadonlyArray<string>
    readonly usedBy: ReadonlyArray<string>
  }>
  readonly domains: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly type: string
    readonly isNotNull: boolean
    readonly default: string | null
    readonly checks: ReadonlyArray<string>
  }>
  readonly compositeTypes: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly attributes: ReadonlyArray<{
      readonly name: string
      readonly type: string
    }>
  }>
  readonly functions: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly arguments: string
    readonly returns: string | null
    readonly language: string
    readonly kind: string
    readonly isSecurityDefiner: boolean
    readonly definition: string | null
  }>
  readonly sequences: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    readonly type: string
    readonly lastValue: string | null
    readonly maxValue: string
    readonly increment: string
    readonly ownedBy: string | null
  }>
  readonly extensions: ReadonlyArray<{
    readonly name: string
    readonly version: string
    readonly schema: string
  }>
  /** Types that a column can have. */
  readonly columnTypes: ReadonlyArray<string>
  readonly roles: ReadonlyArray<string>
}

export type StructurePlan = {
  readonly sql: string
  /** Version of the current structure, for `apply`. */
  readonly version: string
  readonly isRehearsed: boolean
  /** Warnings, the gravest first. */
  readonly warnings: ReadonlyArray<StructureWarning>
  readonly locks?: ReadonlyArray<StructureLock> | undefined
  readonly rewritten?: ReadonlyArray<{
    readonly relation: string
    readonly bytes: number
  }> | undefined
  readonly changes?: ReadonlyArray<SchemaChange> | undefined
  readonly access?: ReadonlyArray<AccessChange> | undefined
}

export type StructurePlanInput = {
  /** `kind`, `schema`, `name` and the members of the kind: create_table, rename_table, comment_table, drop_relation, add_column, alter_column, drop_column, set_row_level_security, set_grants, create_index, drop_index, add_primary_key, add_unique, add_check, add_foreign_key, validate_constraint, rename_constraint, drop_constraint, create_enum, add_enum_value, rename_enum_value, rename_type, drop_type, apply_template, create_policy, alter_policy, drop_policy, drop_trigger, set_trigger, drop_function. */
  readonly change?: {
    readonly [name: string]: unknown
  } | undefined
  /** Script, instead of a change. */
  readonly sql?: string | undefined
}

export type StructurePolicy = {
  readonly name: string
  readonly command: string
  readonly isPermissive: boolean
  readonly roles: ReadonlyArray<string>
  readonly using: string | null
  readonly check: string | null
}

export type StructureRelation = {
  readonly schema: string
  readonly name: string
  /** table, partitioned table, view, materialized view or foreign table */
  readonly kind: string
  readonly comment: string | null
  /** Planner's estimate. */
  readonly estimatedRows: number | null
  /** With indexes. */
  readonly bytes: number
  readonly isRlsEnabled: boolean
  readonly isRlsForced: boolean
  readonly policyCount: number
  /** Such as `security_invoker=true`. */
  readonly options: ReadonlyArray<string>
  readonly hasPrimaryKey: boolean
  /** True if its schema is in `database.schemas`. */
  readonly isServed: boolean
  /** Privileges of callers with and without a token, before policies. */
  readonly callers: {
    readonly authenticated: ReadonlyArray<string>
    readonly anonymous: ReadonlyArray<string>
  }
  readonly owner: string
  readonly partitionKey: string | null
  readonly partitionOf: {
    readonly schema: string
    readonly name: string
  } | null
  readonly partitions: ReadonlyArray<{
    readonly schema: string
    readonly name: string
    /** Values of the partition, as SQL. */
    readonly bound: string
    readonly estimatedRows: number | null
    readonly bytes: number
  }>
  readonly tableBytes: number
  readonly indexBytes: number
  readonly columns: ReadonlyArray<StructureColumn>
  readonly constraints: ReadonlyArray<StructureConstraint>
  readonly indexes: ReadonlyArray<StructureIndex>
  readonly triggers: ReadonlyArray<StructureTrigger>
  readonly policies: ReadonlyArray<StructurePolicy>
  readonly grants: ReadonlyArray<{
    readonly role: string
    readonly privileges: ReadonlyArray<string>
  }>
  /** Objects that must be dropped before it. */
  readonly dependents: ReadonlyArray<{
    readonly kind: string
    readonly name: string
  }>
  /** SQL query of a view. */
  readonly query: string | null
  /** SQL that describes it as it is, for reading. */
  readonly definition: string
  /** Reason why only writes by the API are followed by events; null if writes of all kinds are. */
  readonly eventGap: string | null
}

export type StructureRelationSummary = {
  readonly schema: string
  readonly name: string
  /** table, partitioned table, view, materialized view or foreign table */
  readonly kind: string
  readonly comment: string | null
  /** Planner's estimate. */
  readonly estimatedRows: number | null
  /** With indexes. */
  readonly bytes: number
  readonly isRlsEnabled: boolean
  readonly isRlsForced: boolean
  readonly policyCount: number
  /** Such as `security_invoker=true`. */
  readonly options: ReadonlyArray<string>
  readonly hasPrimaryKey: boolean
  /** True if its schema is in `database.schemas`. */
  readonly isServed: boolean
  /** Privileges of callers with and without a token, before policies. */
  readonly callers: {
    readonly authenticated: ReadonlyArray<string>
    readonly anonymous: ReadonlyArray<string>
  }
}

export type StructureTrigger = {
  readonly name: string
  readonly definition: string
  readonly function: string
  readonly isEnabled: boolean
}

export type StructureWarning = {
  readonly kind: 'open' | 'access' | 'removes' | 'renames' | 'rewrites' | 'reads' | 'blocks' | 'not rehearsed'
  readonly message: string
}

export type SupportAnswerInput = {
  readonly body: string
}

export type SupportChangeInput = {
  readonly status: 'open' | 'answered' | 'closed'
}

export type SupportOpenInput = {
  readonly subject: string
  readonly body: string
}

export type SupportReceiveMailForm = {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly envelope: string
  readonly html?: string | undefined
  readonly headers?: string | undefined
  readonly SPF?: string | undefined
  readonly dkim?: string | undefined
  readonly [name: string]: unknown
}

export type SupportReceiveMailResult = TicketMessage | {
  readonly ok: boolean
}

export type SupportWriteInput = {
  readonly body: string
}

/** The columns of the table. With `expand`, related records are under `expand`. */
export type TableRecord = {
  readonly [name: string]: unknown
}

export type TableSummary = {
  readonly collection: string
  readonly schema: string
  readonly name: string
  readonly kind: string
  /** Estimate of the database. null for views. */
  readonly estimatedRows: number | null
  readonly rlsEnabled: boolean
  readonly policies: number
  /** True if signed-in users may read any of it. */
  readonly isReadable: boolean
}

export type TablesApplyChangesInput = {
  readonly operations: ReadonlyArray<{
    readonly method: 'create' | 'update' | 'delete'
    /** As in a batch. */
    readonly id?: string | undefined
    /** Entity tag of the row when it was read. */
    readonly ifMatch?: string | undefined
    readonly body?: TableRecord | undefined
  }>
}

export type TablesCellResult = {
  /** Bytes as `\\x…`. */
  readonly value: string | null
}

export type TablesCountResult = {
  readonly count: number
  /** True if there are more rows than were counted. */
  readonly isBounded: boolean
  /** Estimate of the planner. */
  readonly estimate: number
}

export type TenantLimits = {
  readonly plan: string
  /** An unlimited metric has the limit 0 and null remaining. */
  readonly metrics: {
    readonly api_requests: LimitedUsage
    readonly storage_bytes: LimitedUsage
    readonly bandwidth_bytes: LimitedUsage
    readonly function_invocations: LimitedUsage
  }
}

export type TenantUsage = {
  readonly tenantId: string
  readonly period: 'day' | 'week' | 'month' | 'custom'
  readonly data: ReadonlyArray<{
    /** UTC. */
    readonly date: string
    readonly apiRequests: number
    /** Maximum of stored bytes. */
    readonly storageBytesUsed: number
    /** Bytes received and sent, including headers. */
    readonly bandwidthBytes: number
    /** Calls of procedures. */
    readonly functionInvocations: number
  }>
  readonly totals: UsageFigures
  /** 0: unlimited. */
  readonly limits: UsageFigures
  readonly plan: string
}

export type Ticket = {
  readonly id: string
  readonly user_id: string
  /** Current address of the user. */
  readonly email: string | null
  readonly subject: string
  readonly status: 'open' | 'answered' | 'closed'
  readonly created_at: string
  readonly updated_at: string
}

export type TicketMessage = {
  readonly id: string
  readonly ticket_id: string
  readonly author: 'user' | 'support'
  readonly body: string
  /** Attachments of the mail. Administrators read their contents by position, from 0. */
  readonly attachments: ReadonlyArray<{
    readonly filename: string
    readonly content_type: string
    readonly size: number
    /** False if the content was not stored, because the ticket has its maximum of 25 MiB. */
    readonly kept: boolean
  }>
  /** Time at which an answer was mailed. */
  readonly mailed_at: string | null
  readonly created_at: string
}

export type TicketPage = {
  readonly items: ReadonlyArray<Ticket>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
}

export type TicketWithMessages = Ticket & {
  /** Last 500 messages, the oldest first. */
  readonly messages: ReadonlyArray<TicketMessage>
}

export type TrafficPoint = {
  /** Start of the step, in UTC. */
  readonly timestamp: string
  readonly requests: number
  /** Responses with status 500 and above. */
  readonly errors: number
  /** null without requests. */
  readonly p50_ms: number | null
  /** null without requests. */
  readonly p95_ms: number | null
}

export type UnverifiedAccount = {
  readonly user: User
  readonly message: string
}

export type UsageBreakdownResult = {
  readonly metric: string
  readonly groupBy: string
  readonly items: ReadonlyArray<{
    readonly key: string
    /** Id of an app. */
    readonly name?: string | undefined
    readonly value: number
  }>
}

export type UsageFigures = {
  readonly apiRequests: number
  /** Maximum of stored bytes. */
  readonly storageBytesUsed: number
  /** Bytes received and sent, including headers. */
  readonly bandwidthBytes: number
  /** Calls of procedures. */
  readonly functionInvocations: number
}

export type UsageListResult = {
  readonly items: ReadonlyArray<AppUsage>
  readonly total: number
  readonly limit: number
  readonly offset: number
}

export type UsageSetPlanInput = {
  /** Plan of `usage.plans`, or `default`. */
  readonly plan: string
}

export type UsageTrendsResult = {
  readonly metric: string
  readonly granularity: string
  readonly items: ReadonlyArray<{
    readonly timestamp: string
    readonly value: number
  }>
}

export type User = {
  readonly id: string
  /** Empty if there is none. */
  readonly email: string
  readonly emailVerified: boolean
  /** E.164. */
  readonly phone?: string | undefined
  readonly is_anonymous: boolean
  readonly linked_at?: string | undefined
  /** Absent while there are none. */
  readonly app_metadata?: AppMetadata | undefined
  readonly createdAt: string
  readonly updatedAt: string
}

export type UserName = {
  readonly id: string
  /** Email address or phone number; null if there is neither. */
  readonly name: string | null
}

export type UsersCreateInput = {
  readonly email?: string | undefined
  /** International form, such as +12025550123. */
  readonly phone?: string | undefined
  /** At least `auth.min_password_length` characters. */
  readonly password?: string | undefined
  /** True if the address counts as verified. */
  readonly emailVerified?: boolean | undefined
  /** Only `email` can be set together with this. */
  readonly invite?: boolean | undefined
}

export type UsersImpersonateInput = {
  /** Reason, which the audit log stores. */
  readonly reason: string
  readonly aal?: 'aal1' | 'aal2' | undefined
}

export type UsersImpersonateResult = {
  readonly id: string
  /** Access token, a JWT. It is shown only once. */
  readonly token: string
  readonly expiresAt: string
  readonly user: AdminUser
}

export type UsersListFactorsResult = {
  readonly factors: ReadonlyArray<Factor>
}

export type UsersListPasskeysResult = {
  readonly credentials: ReadonlyArray<Passkey>
}

export type UsersListResult = {
  readonly items: ReadonlyArray<AdminUser>
  readonly page: number
  readonly perPage: number
  /** An estimate when a search has more than 10,000 matches. */
  readonly totalItems: number
  /** True if `totalItems` and `totalPages` are estimates. */
  readonly isTotalEstimated?: boolean | undefined
  readonly totalPages: number
  /** Cursor of the next page. Missing on the last page. */
  readonly nextCursor?: string | undefined
  /** False if the search did not consider every user. It sorted 10,000 of more matches, or ended at `searchedTo`. */
  readonly isSearchComplete?: boolean | undefined
  /** Creation time of the oldest user that a bounded search has read. `nextCursor` continues there. */
  readonly searchedTo?: string | undefined
}

export type UsersNamesResult = {
  readonly items: ReadonlyArray<UserName>
}

export type UsersPreviewDeletionResult = {
  /** Rows that reference the user by foreign key. */
  readonly references: ReadonlyArray<{
    /** Name of the table, with its schema. */
    readonly table: string
    readonly columns: ReadonlyArray<string>
    readonly action: 'cascade' | 'set null' | 'set default' | 'restrict' | 'no action'
    /** null if counting took more than a second. 10,001 means more than 10,000. */
    readonly rows: number | null
  }>
  /** Tables whose rows reference the deleted rows. They are not counted. */
  readonly further: ReadonlyArray<{
    readonly table: string
    readonly references: string
    readonly action: 'cascade' | 'set null' | 'set default' | 'restrict' | 'no action'
  }>
  readonly files: {
    readonly count: number
    readonly bytes: number
  }
  /** Tables whose rows must be removed first. */
  readonly blockedBy: ReadonlyArray<string>
}

export type UsersSendMailInput = {
  readonly purpose: 'password_reset' | 'magic_link' | 'email_verification' | 'invitation'
}

export type UsersUpdateInput = {
  readonly email?: string | undefined
  readonly emailVerified?: boolean | undefined
  /** null removes it. */
  readonly phone?: string | null | undefined
  /** Replaces all of it. At most 8192 bytes. */
  readonly app_metadata?: AppMetadata | undefined
}

export type VectorIndex = {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly method: 'hnsw' | 'ivfflat'
  /** Definition in SQL. */
  readonly definition: string
  /** Column; null for an index on an expression. */
  readonly column: string | null
  /** Metric; null for an index that the distances of the API do not use. */
  readonly metric: 'cosine' | 'l2' | 'inner_product' | null
  /** True if the index is complete. */
  readonly valid: boolean
  readonly sizeBytes: number
}

export type VectorIndexesListResult = {
  readonly indexes: ReadonlyArray<VectorIndex>
}

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly hasSecret: boolean
  readonly events: ReadonlyArray<'create' | 'update' | 'delete' | 'truncate'>
  readonly tables: ReadonlyArray<string>
  readonly enabled: boolean
  /** True if a function of the project gets the events. It follows the live deploy and cannot be changed. */
  readonly isOfFunction: boolean
  /** Time at which the server paused the webhook. `enabled` is false then. */
  readonly pausedAt: string | null
  readonly pausedReason: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export type WebhookDelivery = {
  readonly id: string
  readonly webhookId: string
  /** Value of the header `webhook-id`, the same in every attempt. */
  readonly eventId: string
  readonly eventAction: string
  readonly eventTable: string
  readonly success: boolean
  readonly statusCode?: number | undefined
  readonly durationMs: number
  readonly error?: string | undefined
  readonly attempt: number
  readonly requestBody: string
  /** The first 64 KiB of the response. */
  readonly responseBody?: string | undefined
  readonly deliveredAt: string
}

export type WebhookDeliveryPage = {
  readonly items: ReadonlyArray<WebhookDelivery>
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
  /** True: `totalItems` and `totalPages` are estimates, beyond 100,000. */
  readonly isTotalEstimated?: boolean | undefined
}

export type WebhookTrial = {
  readonly success: boolean
  readonly statusCode?: number | undefined
  readonly durationMs: number
  readonly error?: string | undefined
  /** The first 64 KiB of the response. */
  readonly responseBody?: string | undefined
}

export type WebhooksCreateInput = {
  /** Key of the signatures: any text, or `whsec_` and base64. Never returned. In an update, null removes the secret and an empty text leaves it unchanged. A replaced secret signs `webhook-signature` for another day beside its successor. Secrets before it stop signing at once. */
  readonly secret?: string | null | undefined
  /** Events that are sent. Default: create, update and delete. */
  readonly events?: ReadonlyArray<'create' | 'update' | 'delete' | 'truncate'> | undefined
  /** Names of collections. An empty list means all collections. */
  readonly tables?: ReadonlyArray<string> | undefined
  readonly enabled?: boolean | undefined
  /** An absolute http or https URL without credentials. */
  readonly url: string
}

export type WebhooksListResult = {
  readonly items: ReadonlyArray<Webhook>
}

export type WebhooksReplayRangeInput = {
  /** Kind of events. `failed` (default): no attempt has succeeded. `delivered`: all events with an attempt. `missed`: events of the log that the webhook subscribes to and that were never queued for it. */
  readonly which?: 'failed' | 'delivered' | 'missed' | undefined
  /** RFC 3339, or YYYY-MM-DD; a range includes its last day. */
  readonly since?: string | undefined
  /** RFC 3339, or YYYY-MM-DD; a range includes its last day. */
  readonly until?: string | undefined
  /** `nextCursor` of the previous request. Continues after its last item. */
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
  /** True to count the events without queuing them. */
  readonly dryRun?: boolean | undefined
}

export type WebhooksReplayRangeResult = {
  /** Number of events that were queued, or would be with `dryRun`. */
  readonly queued: number
  /** True if the limit was reached. */
  readonly hasMore: boolean
  /** With `hasMore`: cursor of the next request. */
  readonly nextCursor?: string | undefined
}

export type WebhooksTryInput = {
  /** An absolute http or https URL without credentials. */
  readonly url: string
  /** Secret that signs this attempt. The secret of the webhook is not used. */
  readonly secret?: string | undefined
}

export type WebhooksUpdateInput = {
  /** Key of the signatures: any text, or `whsec_` and base64. Never returned. In an update, null removes the secret and an empty text leaves it unchanged. A replaced secret signs `webhook-signature` for another day beside its successor. Secrets before it stop signing at once. */
  readonly secret?: string | null | undefined
  /** Events that are sent. Default: create, update and delete. */
  readonly events?: ReadonlyArray<'create' | 'update' | 'delete' | 'truncate'> | undefined
  /** Names of collections. An empty list means all collections. */
  readonly tables?: ReadonlyArray<string> | undefined
  readonly enabled?: boolean | undefined
  /** An absolute http or https URL without credentials. */
  readonly url?: string | undefined
}

/** The operations of the API, by name. */
export interface Operations {
  'access.compare': {
    readonly method: 'POST'
    readonly path: 'admin/access/compare'
    readonly query: never
    readonly body: AccessCompareInput
    readonly answer: PolicyComparison
  }
  'access.explain': {
    readonly method: 'POST'
    readonly path: 'admin/access/explain'
    readonly query: never
    readonly body: PolicyExplanation
    readonly answer: AccessExplanation
  }
  'access.saveCase': {
    readonly method: 'POST'
    readonly path: 'admin/access/cases'
    readonly query: never
    readonly body: AccessSaveCaseInput
    readonly answer: PolicyCaseFile
  }
  'access.takeApart': {
    readonly method: 'POST'
    readonly path: 'admin/access/parts'
    readonly query: never
    readonly body: AccessTakeApartInput
    readonly answer: ExpressionPart
  }
  'accounts.changePassword': {
    readonly method: 'POST'
    readonly path: 'auth/change-password'
    readonly query: never
    readonly body: AccountsChangePasswordInput
    readonly answer: Message
  }
  'accounts.confirmMagicLink': {
    readonly method: 'POST'
    readonly path: 'auth/magic-link/confirm'
    readonly query: never
    readonly body: AccountsConfirmMagicLinkInput
    readonly answer: AccountsConfirmMagicLinkResult
  }
  'accounts.confirmPasswordReset': {
    readonly method: 'POST'
    readonly path: 'auth/password-reset/confirm'
    readonly query: never
    readonly body: AccountsConfirmPasswordResetInput
    readonly answer: Message
  }
  'accounts.confirmSmsCode': {
    readonly method: 'POST'
    readonly path: 'auth/sms/confirm'
    readonly query: never
    readonly body: AccountsConfirmSmsCodeInput
    readonly answer: AccountsConfirmSmsCodeResult
  }
  'accounts.deleteMe': {
    readonly method: 'DELETE'
    readonly path: 'auth/me'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'accounts.linkEmail': {
    readonly method: 'POST'
    readonly path: 'auth/link/email'
    readonly query: never
    readonly body: AccountsLinkEmailInput
    readonly answer: AccountsLinkEmailResult
  }
  'accounts.listSessions': {
    readonly method: 'GET'
    readonly path: 'auth/sessions'
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<Session>
  }
  'accounts.logIn': {
    readonly method: 'POST'
    readonly path: 'auth/login'
    readonly query: never
    readonly body: AccountsLogInInput
    readonly answer: AccountsLogInResult
  }
  'accounts.logOut': {
    readonly method: 'POST'
    readonly path: 'auth/logout'
    readonly query: never
    readonly body: AccountsLogOutInput
    readonly answer: undefined
  }
  'accounts.me': {
    readonly method: 'GET'
    readonly path: 'auth/me'
    readonly query: never
    readonly body: undefined
    readonly answer: User
  }
  'accounts.refresh': {
    readonly method: 'POST'
    readonly path: 'auth/refresh'
    readonly query: never
    readonly body: AccountsRefreshInput
    readonly answer: Authentication
  }
  'accounts.register': {
    readonly method: 'POST'
    readonly path: 'auth/register'
    readonly query: never
    readonly body: AccountsRegisterInput
    readonly answer: AccountsRegisterResult
  }
  'accounts.requestMagicLink': {
    readonly method: 'POST'
    readonly path: 'auth/magic-link'
    readonly query: never
    readonly body: AccountsRequestMagicLinkInput
    readonly answer: Message
  }
  'accounts.requestPasswordReset': {
    readonly method: 'POST'
    readonly path: 'auth/password-reset'
    readonly query: never
    readonly body: AccountsRequestPasswordResetInput
    readonly answer: Message
  }
  'accounts.requestSmsCode': {
    readonly method: 'POST'
    readonly path: 'auth/sms'
    readonly query: never
    readonly body: AccountsRequestSmsCodeInput
    readonly answer: Message
  }
  'accounts.resendVerification': {
    readonly method: 'POST'
    readonly path: 'auth/verify/resend'
    readonly query: never
    readonly body: undefined
    readonly answer: Message
  }
  'accounts.revokeOtherSessions': {
    readonly method: 'DELETE'
    readonly path: 'auth/sessions'
    readonly query: 'all_except_current'
    readonly body: undefined
    readonly answer: undefined
  }
  'accounts.revokeSession': {
    readonly method: 'DELETE'
    readonly path: `auth/sessions/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'accounts.signInAnonymously': {
    readonly method: 'POST'
    readonly path: 'auth/anonymous'
    readonly query: never
    readonly body: undefined
    readonly answer: Authentication
  }
  'accounts.verifyEmail': {
    readonly method: 'POST'
    readonly path: 'auth/verify'
    readonly query: never
    readonly body: AccountsVerifyEmailInput
    readonly answer: Message
  }
  'admin.endSession': {
    readonly method: 'DELETE'
    readonly path: 'admin/session'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'admin.preferences': {
    readonly method: 'GET'
    readonly path: 'admin/preferences'
    readonly query: never
    readonly body: undefined
    readonly answer: DashboardPreferences
  }
  'admin.session': {
    readonly method: 'GET'
    readonly path: 'admin/session'
    readonly query: never
    readonly body: undefined
    readonly answer: CurrentAdminSession
  }
  'admin.setPreferences': {
    readonly method: 'PATCH'
    readonly path: 'admin/preferences'
    readonly query: never
    readonly body: AdminSetPreferencesInput
    readonly answer: DashboardPreferences
  }
  'admin.signIn': {
    readonly method: 'POST'
    readonly path: 'admin/auth'
    readonly query: never
    readonly body: AdminCredentials
    readonly answer: AdminSignInResult
  }
  'admin.signInMethods': {
    readonly method: 'GET'
    readonly path: 'admin/auth/methods'
    readonly query: never
    readonly body: undefined
    readonly answer: AdminSignInMethodsResult
  }
  'admin.signOut': {
    readonly method: 'POST'
    readonly path: 'admin/auth/logout'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'admin.startSession': {
    readonly method: 'POST'
    readonly path: 'admin/session'
    readonly query: never
    readonly body: AdminCredentials
    readonly answer: AdminStartSessionResult
  }
  'admin.status': {
    readonly method: 'GET'
    readonly path: 'admin/status'
    readonly query: never
    readonly body: undefined
    readonly answer: AdminStatusResult
  }
  'administrators.challengePasskey': {
    readonly method: 'POST'
    readonly path: 'admin/account/passkeys/challenge'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeyRequestOptions
  }
  'administrators.changePassword': {
    readonly method: 'PUT'
    readonly path: 'admin/account/password'
    readonly query: never
    readonly body: AdministratorsChangePasswordInput
    readonly answer: undefined
  }
  'administrators.confirmPasskey': {
    readonly method: 'POST'
    readonly path: 'admin/account/passkeys/confirm'
    readonly query: never
    readonly body: AdministratorsConfirmPasskeyInput
    readonly answer: AdministratorsConfirmPasskeyResult
  }
  'administrators.confirmTotp': {
    readonly method: 'POST'
    readonly path: 'admin/account/factors/totp/confirm'
    readonly query: never
    readonly body: AdministratorsConfirmTotpInput
    readonly answer: AdministratorsConfirmTotpResult
  }
  'administrators.createToken': {
    readonly method: 'POST'
    readonly path: 'admin/account/tokens'
    readonly query: never
    readonly body: AdministratorsCreateTokenInput
    readonly answer: AdministratorsCreateTokenResult
  }
  'administrators.endSession': {
    readonly method: 'DELETE'
    readonly path: `admin/administrators/${string}/sessions/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.enrollPasskey': {
    readonly method: 'POST'
    readonly path: 'admin/account/passkeys'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeyCreationOptions
  }
  'administrators.enrollTotp': {
    readonly method: 'POST'
    readonly path: 'admin/account/factors/totp'
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorsEnrollTotpResult
  }
  'administrators.forgotPassword': {
    readonly method: 'POST'
    readonly path: 'admin/auth/forgot'
    readonly query: never
    readonly body: AdministratorsForgotPasswordInput
    readonly answer: undefined
  }
  'administrators.invite': {
    readonly method: 'POST'
    readonly path: 'admin/administrators'
    readonly query: never
    readonly body: AdministratorsInviteInput
    readonly answer: AdministratorsInviteResult
  }
  'administrators.list': {
    readonly method: 'GET'
    readonly path: 'admin/administrators'
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorsListResult
  }
  'administrators.listFactors': {
    readonly method: 'GET'
    readonly path: 'admin/account/factors'
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorFactors
  }
  'administrators.listSessions': {
    readonly method: 'GET'
    readonly path: `admin/administrators/${string}/sessions`
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorsListSessionsResult
  }
  'administrators.reinvite': {
    readonly method: 'POST'
    readonly path: `admin/administrators/${string}/invitation`
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorInvitation
  }
  'administrators.remove': {
    readonly method: 'DELETE'
    readonly path: `admin/administrators/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.removeFactors': {
    readonly method: 'DELETE'
    readonly path: `admin/administrators/${string}/factors`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.removeIdentity': {
    readonly method: 'DELETE'
    readonly path: `admin/administrators/${string}/identity`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.removePasskey': {
    readonly method: 'DELETE'
    readonly path: `admin/account/passkeys/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.removeTotp': {
    readonly method: 'DELETE'
    readonly path: 'admin/account/factors/totp'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'administrators.renewBackupCodes': {
    readonly method: 'POST'
    readonly path: 'admin/account/factors/backup-codes'
    readonly query: never
    readonly body: undefined
    readonly answer: AdministratorsRenewBackupCodesResult
  }
  'administrators.requestPasskey': {
    readonly method: 'POST'
    readonly path: 'admin/auth/passkey'
    readonly query: never
    readonly body: AdministratorsRequestPasskeyInput
    readonly answer: PasskeyRequestOptions
  }
  'administrators.setPassword': {
    readonly method: 'POST'
    readonly path: 'admin/auth/password'
    readonly query: never
    readonly body: AdministratorsSetPasswordInput
    readonly answer: undefined
  }
  'administrators.stepUp': {
    readonly method: 'POST'
    readonly path: 'admin/account/step-up'
    readonly query: never
    readonly body: AdministratorsStepUpInput
    readonly answer: undefined
  }
  'administrators.update': {
    readonly method: 'PATCH'
    readonly path: `admin/administrators/${string}`
    readonly query: never
    readonly body: AdministratorsUpdateInput
    readonly answer: Administrator
  }
  'advisors.dismiss': {
    readonly method: 'PUT'
    readonly path: `admin/advisors/${string}/dismissal`
    readonly query: never
    readonly body: AdvisorsDismissInput
    readonly answer: Advice
  }
  'advisors.list': {
    readonly method: 'GET'
    readonly path: 'admin/advisors'
    readonly query: never
    readonly body: undefined
    readonly answer: AdviceList
  }
  'advisors.listPerformance': {
    readonly method: 'GET'
    readonly path: 'admin/advisors/performance'
    readonly query: never
    readonly body: undefined
    readonly answer: AdviceList
  }
  'advisors.listSecurity': {
    readonly method: 'GET'
    readonly path: 'admin/advisors/security'
    readonly query: never
    readonly body: undefined
    readonly answer: AdviceList
  }
  'advisors.restore': {
    readonly method: 'DELETE'
    readonly path: `admin/advisors/${string}/dismissal`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'analytics.histogram': {
    readonly method: 'GET'
    readonly path: 'admin/analytics/requests/histogram'
    readonly query: 'method' | 'path' | 'status' | 'min_duration_ms' | 'user_id' | 'api_key_id' | 'app_id' | 'request_id' | 'from' | 'to'
    readonly body: undefined
    readonly answer: Histogram
  }
  'analytics.latency': {
    readonly method: 'GET'
    readonly path: 'admin/analytics/latency'
    readonly query: 'step' | 'from' | 'to' | 'operation' | 'app_id'
    readonly body: undefined
    readonly answer: AnalyticsLatencyResult
  }
  'analytics.queries': {
    readonly method: 'GET'
    readonly path: 'admin/analytics/queries'
    readonly query: 'sort' | 'limit'
    readonly body: undefined
    readonly answer: AnalyticsQueriesResult
  }
  'analytics.requests': {
    readonly method: 'GET'
    readonly path: 'admin/analytics/requests'
    readonly query: 'method' | 'path' | 'status' | 'min_duration_ms' | 'user_id' | 'api_key_id' | 'app_id' | 'request_id' | 'from' | 'to' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: AnalyticsRequestsResult
  }
  'apiKeys.create': {
    readonly method: 'POST'
    readonly path: 'admin/api-keys'
    readonly query: never
    readonly body: ApiKeysCreateInput
    readonly answer: CreatedApiKey
  }
  'apiKeys.createOwn': {
    readonly method: 'POST'
    readonly path: 'auth/api-keys'
    readonly query: never
    readonly body: ApiKeysCreateOwnInput
    readonly answer: CreatedApiKey
  }
  'apiKeys.list': {
    readonly method: 'GET'
    readonly path: 'admin/api-keys'
    readonly query: 'page' | 'perPage' | 'userId' | 'appId'
    readonly body: undefined
    readonly answer: ApiKeyPage
  }
  'apiKeys.listOwn': {
    readonly method: 'GET'
    readonly path: 'auth/api-keys'
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<ApiKey>
  }
  'apiKeys.renameOwn': {
    readonly method: 'PATCH'
    readonly path: `auth/api-keys/${string}`
    readonly query: never
    readonly body: ApiKeysRenameOwnInput
    readonly answer: ApiKey
  }
  'apiKeys.revoke': {
    readonly method: 'DELETE'
    readonly path: `admin/api-keys/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'apiKeys.revokeOwn': {
    readonly method: 'DELETE'
    readonly path: `auth/api-keys/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'apiKeys.rotate': {
    readonly method: 'POST'
    readonly path: `admin/api-keys/${string}/rotate`
    readonly query: never
    readonly body: ApiKeysRotateInput
    readonly answer: CreatedApiKey
  }
  'apiKeys.rotateOwn': {
    readonly method: 'POST'
    readonly path: `auth/api-keys/${string}/rotate`
    readonly query: never
    readonly body: ApiKeysRotateOwnInput
    readonly answer: CreatedApiKey
  }
  'apiKeys.update': {
    readonly method: 'PATCH'
    readonly path: `admin/api-keys/${string}`
    readonly query: never
    readonly body: ApiKeysUpdateInput
    readonly answer: ApiKey
  }
  'apps.create': {
    readonly method: 'POST'
    readonly path: 'admin/apps'
    readonly query: never
    readonly body: AppsCreateInput
    readonly answer: App
  }
  'apps.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/apps/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'apps.get': {
    readonly method: 'GET'
    readonly path: `admin/apps/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: App
  }
  'apps.getRateLimit': {
    readonly method: 'GET'
    readonly path: `admin/apps/${string}/rate-limit`
    readonly query: never
    readonly body: undefined
    readonly answer: AppsGetRateLimitResult
  }
  'apps.list': {
    readonly method: 'GET'
    readonly path: 'admin/apps'
    readonly query: 'page' | 'perPage'
    readonly body: undefined
    readonly answer: AppPage
  }
  'apps.update': {
    readonly method: 'PUT'
    readonly path: `admin/apps/${string}`
    readonly query: never
    readonly body: AppsUpdateInput
    readonly answer: App
  }
  'audit.list': {
    readonly method: 'GET'
    readonly path: 'admin/audit'
    readonly query: 'table' | 'record_id' | 'user_id' | 'api_key_id' | 'app_id' | 'operation' | 'actor' | 'action' | 'request_id' | 'from' | 'to' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: AuditEntrySlice
  }
  'authSettings.get': {
    readonly method: 'GET'
    readonly path: 'admin/auth-settings'
    readonly query: never
    readonly body: undefined
    readonly answer: AuthSettings
  }
  'authSettings.replace': {
    readonly method: 'PUT'
    readonly path: 'admin/auth-settings'
    readonly query: never
    readonly body: AuthSettingsUpdate
    readonly answer: AuthSettings
  }
  'authSettings.update': {
    readonly method: 'PATCH'
    readonly path: 'admin/auth-settings'
    readonly query: never
    readonly body: AuthSettingsUpdate
    readonly answer: AuthSettings
  }
  'billing.get': {
    readonly method: 'GET'
    readonly path: `admin/apps/${string}/billing`
    readonly query: never
    readonly body: undefined
    readonly answer: BillingState
  }
  'billing.listEvents': {
    readonly method: 'GET'
    readonly path: 'admin/billing/events'
    readonly query: 'app_id' | 'subscription_id' | 'customer_id' | 'type' | 'from' | 'to' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: BillingEventSlice
  }
  'billing.report': {
    readonly method: 'POST'
    readonly path: 'webhooks/billing'
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: BillingReportResult
  }
  'captcha.describe': {
    readonly method: 'GET'
    readonly path: 'auth/captcha'
    readonly query: 'route'
    readonly body: undefined
    readonly answer: CaptchaChallenge
  }
  'cdn.purge': {
    readonly method: 'POST'
    readonly path: 'admin/storage/cdn/purge'
    readonly query: never
    readonly body: CdnPurgeInput
    readonly answer: CdnPurge
  }
  'collections.aggregate': {
    readonly method: 'POST'
    readonly path: `collections/${string}/aggregate`
    readonly query: never
    readonly body: CollectionsAggregateInput
    readonly answer: AggregateResults
  }
  'collections.batch': {
    readonly method: 'POST'
    readonly path: `collections/${string}/batch`
    readonly query: never
    readonly body: CollectionsBatchInput
    readonly answer: ReadonlyArray<BatchResult>
  }
  'collections.batchAcross': {
    readonly method: 'POST'
    readonly path: 'batch'
    readonly query: never
    readonly body: CollectionsBatchAcrossInput
    readonly answer: ReadonlyArray<BatchResult>
  }
  'collections.cancelImport': {
    readonly method: 'DELETE'
    readonly path: `collections/${string}/imports/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: ImportRun
  }
  'collections.create': {
    readonly method: 'POST'
    readonly path: `collections/${string}`
    readonly query: 'onConflict' | 'onConflictAction' | 'fields' | 'expand'
    readonly body: TableRecord
    readonly answer: TableRecord
  }
  'collections.delete': {
    readonly method: 'DELETE'
    readonly path: `collections/${string}/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'collections.deleteAll': {
    readonly method: 'DELETE'
    readonly path: `collections/${string}`
    readonly query: 'filter' | 'expect' | 'return' | 'fields' | 'expand'
    readonly body: undefined
    readonly answer: RecordsDeleteResult
  }
  'collections.exportCsv': {
    readonly method: 'GET'
    readonly path: `collections/${string}/export.csv`
    readonly query: 'filter' | 'search' | 'fuzzy' | 'typo_threshold' | 'near' | 'within' | 'intersects' | 'bbox' | 'sort' | 'fields' | 'spreadsheet'
    readonly body: undefined
    readonly answer: undefined
  }
  'collections.exportJson': {
    readonly method: 'GET'
    readonly path: `collections/${string}/export.json`
    readonly query: 'filter' | 'search' | 'fuzzy' | 'typo_threshold' | 'near' | 'within' | 'intersects' | 'bbox' | 'sort' | 'fields'
    readonly body: undefined
    readonly answer: ReadonlyArray<TableRecord>
  }
  'collections.exportNdjson': {
    readonly method: 'GET'
    readonly path: `collections/${string}/export.ndjson`
    readonly query: 'filter' | 'search' | 'fuzzy' | 'typo_threshold' | 'near' | 'within' | 'intersects' | 'bbox' | 'sort' | 'fields'
    readonly body: undefined
    readonly answer: undefined
  }
  'collections.get': {
    readonly method: 'GET'
    readonly path: `collections/${string}/${string}`
    readonly query: 'fields' | 'expand'
    readonly body: undefined
    readonly answer: TableRecord
  }
  'collections.getImport': {
    readonly method: 'GET'
    readonly path: `collections/${string}/imports/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: ImportRun
  }
  'collections.import': {
    readonly method: 'POST'
    readonly path: `collections/${string}/import`
    readonly query: 'mode' | 'on_conflict' | 'dryRun'
    readonly body: ReadonlyArray<TableRecord>
    readonly answer: ImportResult | ImportRun
  }
  'collections.list': {
    readonly method: 'GET'
    readonly path: `collections/${string}`
    readonly query: 'filter' | 'search' | 'fuzzy' | 'typo_threshold' | 'near' | 'within' | 'intersects' | 'bbox' | 'highlight' | 'sort' | 'page' | 'perPage' | 'skipTotal' | 'total' | 'cursor' | 'fields' | 'expand' | 'facets' | 'disjunctiveFacets' | 'nearest' | 'semantic_query' | 'semantic' | 'vector_column' | 'distance'
    readonly body: undefined
    readonly answer: RecordPage
  }
  'collections.query': {
    readonly method: 'POST'
    readonly path: `collections/${string}/query`
    readonly query: never
    readonly body: CollectionsQueryInput
    readonly answer: RecordPage
  }
  'collections.searchFacet': {
    readonly method: 'GET'
    readonly path: `collections/${string}/facets/${string}/search`
    readonly query: 'q' | 'maxFacetHits' | 'filter' | 'search' | 'fuzzy' | 'typo_threshold' | 'near' | 'within' | 'intersects' | 'bbox'
    readonly body: undefined
    readonly answer: CollectionsSearchFacetResult
  }
  'collections.update': {
    readonly method: 'PATCH'
    readonly path: `collections/${string}/${string}`
    readonly query: 'fields' | 'expand'
    readonly body: TableRecord
    readonly answer: TableRecord
  }
  'collections.updateAll': {
    readonly method: 'PATCH'
    readonly path: `collections/${string}`
    readonly query: 'filter' | 'expect' | 'return' | 'fields' | 'expand'
    readonly body: TableRecord
    readonly answer: RecordsUpdateResult
  }
  'companySignIn.finish': {
    readonly method: 'GET'
    readonly path: 'admin/auth/oidc/callback'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'companySignIn.start': {
    readonly method: 'POST'
    readonly path: 'admin/auth/oidc'
    readonly query: never
    readonly body: CompanySignInStartInput
    readonly answer: AdministratorProviderRequest
  }
  'companySignIn.stepUp': {
    readonly method: 'POST'
    readonly path: 'admin/account/step-up/oidc'
    readonly query: never
    readonly body: CompanySignInStepUpInput
    readonly answer: AdministratorProviderRequest
  }
  'dashboardReads.get': {
    readonly method: 'GET'
    readonly path: 'admin/dashboard-reads'
    readonly query: never
    readonly body: undefined
    readonly answer: DashboardReads
  }
  'dashboardReads.set': {
    readonly method: 'PUT'
    readonly path: 'admin/dashboard-reads'
    readonly query: never
    readonly body: DashboardReadsSetInput
    readonly answer: DashboardReads
  }
  'domains.create': {
    readonly method: 'POST'
    readonly path: 'admin/domains'
    readonly query: never
    readonly body: DomainsCreateInput
    readonly answer: Domain
  }
  'domains.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/domains/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'domains.get': {
    readonly method: 'GET'
    readonly path: `admin/domains/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Domain
  }
  'domains.list': {
    readonly method: 'GET'
    readonly path: 'admin/domains'
    readonly query: 'page' | 'perPage'
    readonly body: undefined
    readonly answer: DomainPage
  }
  'domains.verify': {
    readonly method: 'POST'
    readonly path: `admin/domains/${string}/verify`
    readonly query: never
    readonly body: undefined
    readonly answer: Domain
  }
  'embeddings.backfill': {
    readonly method: 'POST'
    readonly path: `admin/embeddings/${string}/backfill`
    readonly query: never
    readonly body: EmbeddingsBackfillInput
    readonly answer: Embedding
  }
  'embeddings.get': {
    readonly method: 'GET'
    readonly path: `admin/embeddings/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: EmbeddingDetail
  }
  'embeddings.list': {
    readonly method: 'GET'
    readonly path: 'admin/embeddings'
    readonly query: never
    readonly body: undefined
    readonly answer: EmbeddingList
  }
  'events.get': {
    readonly method: 'GET'
    readonly path: `admin/events/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: EventDetail
  }
  'events.list': {
    readonly method: 'GET'
    readonly path: 'admin/events'
    readonly query: 'table' | 'record' | 'user_id' | 'request_id' | 'action' | 'since' | 'until' | 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: EventsListResult
  }
  'functions.activity': {
    readonly method: 'GET'
    readonly path: 'admin/functions/activity'
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionsActivityResult
  }
  'functions.createDeploy': {
    readonly method: 'POST'
    readonly path: 'admin/functions/deploys'
    readonly query: never
    readonly body: FunctionsCreateDeployInput
    readonly answer: FunctionsCreateDeployResult
  }
  'functions.delete': {
    readonly method: 'DELETE'
    readonly path: `functions/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: unknown
  }
  'functions.get': {
    readonly method: 'GET'
    readonly path: `functions/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: unknown
  }
  'functions.invoke': {
    readonly method: 'POST'
    readonly path: 'admin/functions/invoke'
    readonly query: never
    readonly body: FunctionsInvokeInput
    readonly answer: FunctionInvocation
  }
  'functions.list': {
    readonly method: 'GET'
    readonly path: 'admin/functions'
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionsListResult
  }
  'functions.listDeploys': {
    readonly method: 'GET'
    readonly path: 'admin/functions/deploys'
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionDeployList
  }
  'functions.listErrors': {
    readonly method: 'GET'
    readonly path: 'admin/functions/errors'
    readonly query: 'function' | 'limit'
    readonly body: undefined
    readonly answer: FunctionFailureList
  }
  'functions.patch': {
    readonly method: 'PATCH'
    readonly path: `functions/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functions.post': {
    readonly method: 'POST'
    readonly path: `functions/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functions.promoteDeploy': {
    readonly method: 'POST'
    readonly path: `admin/functions/deploys/${string}/promote`
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionDeploy
  }
  'functions.put': {
    readonly method: 'PUT'
    readonly path: `functions/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functions.receive': {
    readonly method: 'POST'
    readonly path: `functions/inbound/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functions.rollback': {
    readonly method: 'POST'
    readonly path: 'admin/functions/deploys/rollback'
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionDeploy
  }
  'functions.sendFiles': {
    readonly method: 'POST'
    readonly path: 'admin/functions/files'
    readonly query: never
    readonly body: undefined
    readonly answer: FunctionsSendFilesResult
  }
  'functions.source': {
    readonly method: 'GET'
    readonly path: 'admin/functions/source'
    readonly query: 'file' | 'line' | 'deploy'
    readonly body: undefined
    readonly answer: FunctionSource
  }
  'functionsByName.delete': {
    readonly method: 'DELETE'
    readonly path: `/functions/v1/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: unknown
  }
  'functionsByName.get': {
    readonly method: 'GET'
    readonly path: `/functions/v1/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: unknown
  }
  'functionsByName.patch': {
    readonly method: 'PATCH'
    readonly path: `/functions/v1/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functionsByName.post': {
    readonly method: 'POST'
    readonly path: `/functions/v1/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'functionsByName.put': {
    readonly method: 'PUT'
    readonly path: `/functions/v1/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'graphql.addDocuments': {
    readonly method: 'POST'
    readonly path: 'admin/graphql/documents'
    readonly query: never
    readonly body: GraphqlAddDocumentsInput
    readonly answer: GraphqlAddDocumentsResult
  }
  'graphql.deleteDocument': {
    readonly method: 'DELETE'
    readonly path: `admin/graphql/documents/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'graphql.listDocuments': {
    readonly method: 'GET'
    readonly path: 'admin/graphql/documents'
    readonly query: 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: GraphqlListDocumentsResult
  }
  'graphql.query': {
    readonly method: 'GET'
    readonly path: 'graphql'
    readonly query: 'query' | 'operationName' | 'variables' | 'documentId' | 'extensions'
    readonly body: undefined
    readonly answer: GraphqlResponse
  }
  'graphql.run': {
    readonly method: 'POST'
    readonly path: 'graphql'
    readonly query: never
    readonly body: GraphqlRunInput
    readonly answer: GraphqlResponse
  }
  'health.check': {
    readonly method: 'GET'
    readonly path: '/health'
    readonly query: never
    readonly body: undefined
    readonly answer: Health
  }
  'impersonations.end': {
    readonly method: 'DELETE'
    readonly path: `admin/impersonations/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'impersonations.list': {
    readonly method: 'GET'
    readonly path: 'admin/impersonations'
    readonly query: never
    readonly body: undefined
    readonly answer: ImpersonationsListResult
  }
  'jobs.cancel': {
    readonly method: 'POST'
    readonly path: `admin/jobs/${string}/cancel`
    readonly query: never
    readonly body: undefined
    readonly answer: Job
  }
  'jobs.count': {
    readonly method: 'GET'
    readonly path: 'admin/jobs/stats'
    readonly query: never
    readonly body: undefined
    readonly answer: JobsCountResult
  }
  'jobs.enqueue': {
    readonly method: 'POST'
    readonly path: 'admin/jobs'
    readonly query: never
    readonly body: JobsEnqueueInput
    readonly answer: Job
  }
  'jobs.get': {
    readonly method: 'GET'
    readonly path: `admin/jobs/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Job
  }
  'jobs.list': {
    readonly method: 'GET'
    readonly path: 'admin/jobs'
    readonly query: 'state' | 'type' | 'from' | 'to' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: JobList
  }
  'jobs.listRuns': {
    readonly method: 'GET'
    readonly path: `admin/jobs/${string}/runs`
    readonly query: never
    readonly body: undefined
    readonly answer: JobRunList
  }
  'jobs.retry': {
    readonly method: 'POST'
    readonly path: `admin/jobs/${string}/retry`
    readonly query: never
    readonly body: undefined
    readonly answer: Job
  }
  'logs.histogram': {
    readonly method: 'GET'
    readonly path: 'admin/logs/histogram'
    readonly query: 'level' | 'q' | 'requestId' | 'since' | 'until'
    readonly body: undefined
    readonly answer: Histogram
  }
  'logs.list': {
    readonly method: 'GET'
    readonly path: 'admin/logs'
    readonly query: 'level' | 'q' | 'requestId' | 'since' | 'until' | 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: LogsListResult
  }
  'logs.tail': {
    readonly method: 'GET'
    readonly path: 'admin/logs/tail'
    readonly query: 'level' | 'q' | 'requestId'
    readonly body: undefined
    readonly answer: undefined
  }
  'mail.deleteTemplate': {
    readonly method: 'DELETE'
    readonly path: `admin/email/templates/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'mail.getTemplate': {
    readonly method: 'GET'
    readonly path: `admin/email/templates/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: MailTemplate
  }
  'mail.listSent': {
    readonly method: 'GET'
    readonly path: 'admin/email/sent'
    readonly query: 'user_id' | 'from' | 'to' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: SentMailSlice
  }
  'mail.listTemplates': {
    readonly method: 'GET'
    readonly path: 'admin/email/templates'
    readonly query: never
    readonly body: undefined
    readonly answer: MailTemplateSummaryList
  }
  'mail.patchTemplate': {
    readonly method: 'PATCH'
    readonly path: `admin/email/templates/${string}`
    readonly query: never
    readonly body: MailPatchTemplateInput
    readonly answer: MailPatchTemplateResult
  }
  'mail.previewTemplate': {
    readonly method: 'POST'
    readonly path: `admin/email/templates/${string}/preview`
    readonly query: never
    readonly body: MailPreviewTemplateInput
    readonly answer: MailPreviewTemplateResult
  }
  'mail.putTemplate': {
    readonly method: 'PUT'
    readonly path: `admin/email/templates/${string}`
    readonly query: never
    readonly body: MailPutTemplateInput
    readonly answer: CustomMailTemplate
  }
  'mail.send': {
    readonly method: 'POST'
    readonly path: 'admin/email/send'
    readonly query: never
    readonly body: MailSendInput
    readonly answer: MailSendResult
  }
  'mail.sendOwn': {
    readonly method: 'POST'
    readonly path: 'email/send'
    readonly query: never
    readonly body: MailSendOwnInput
    readonly answer: MailSendOwnResult
  }
  'matviews.get': {
    readonly method: 'GET'
    readonly path: `admin/matviews/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Matview
  }
  'matviews.list': {
    readonly method: 'GET'
    readonly path: 'admin/matviews'
    readonly query: never
    readonly body: undefined
    readonly answer: MatviewList
  }
  'matviews.refresh': {
    readonly method: 'POST'
    readonly path: `admin/matviews/${string}/refresh`
    readonly query: never
    readonly body: undefined
    readonly answer: MatviewsRefreshResult
  }
  'matviews.register': {
    readonly method: 'POST'
    readonly path: 'admin/matviews'
    readonly query: never
    readonly body: MatviewsRegisterInput
    readonly answer: Matview
  }
  'matviews.unregister': {
    readonly method: 'DELETE'
    readonly path: `admin/matviews/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'matviews.update': {
    readonly method: 'PUT'
    readonly path: `admin/matviews/${string}`
    readonly query: never
    readonly body: MatviewsUpdateInput
    readonly answer: Matview
  }
  'metrics.get': {
    readonly method: 'GET'
    readonly path: '/metrics'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'mfa.challengeEmail': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/email/challenge'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaChallengeEmailResult
  }
  'mfa.challengeSms': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/sms/challenge'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaChallengeSmsResult
  }
  'mfa.challengeTotp': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/totp/challenge'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaChallengeTotpResult
  }
  'mfa.confirmEmail': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/email/enroll/confirm'
    readonly query: never
    readonly body: MfaConfirmEmailInput
    readonly answer: Message
  }
  'mfa.confirmSms': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/sms/enroll/confirm'
    readonly query: never
    readonly body: MfaConfirmSmsInput
    readonly answer: Message
  }
  'mfa.confirmTotp': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/totp/enroll/confirm'
    readonly query: never
    readonly body: MfaConfirmTotpInput
    readonly answer: Message
  }
  'mfa.countBackupCodes': {
    readonly method: 'GET'
    readonly path: 'auth/mfa/backup/count'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaCountBackupCodesResult
  }
  'mfa.enrollEmail': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/email/enroll'
    readonly query: never
    readonly body: undefined
    readonly answer: Message
  }
  'mfa.enrollSms': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/sms/enroll'
    readonly query: never
    readonly body: MfaEnrollSmsInput
    readonly answer: Message
  }
  'mfa.enrollTotp': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/totp/enroll'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaEnrollTotpResult
  }
  'mfa.generateBackupCodes': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/backup/generate'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaGenerateBackupCodesResult
  }
  'mfa.getFactor': {
    readonly method: 'GET'
    readonly path: `auth/mfa/factors/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Factor
  }
  'mfa.listFactors': {
    readonly method: 'GET'
    readonly path: 'auth/mfa/factors'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaListFactorsResult
  }
  'mfa.regenerateBackupCodes': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/backup/regenerate'
    readonly query: never
    readonly body: undefined
    readonly answer: MfaRegenerateBackupCodesResult
  }
  'mfa.removeFactor': {
    readonly method: 'DELETE'
    readonly path: `auth/mfa/factors/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'mfa.verifyBackupCode': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/backup/verify'
    readonly query: never
    readonly body: MfaVerifyBackupCodeInput
    readonly answer: Authentication
  }
  'mfa.verifyEmail': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/email/verify'
    readonly query: never
    readonly body: MfaVerifyEmailInput
    readonly answer: Authentication
  }
  'mfa.verifySms': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/sms/verify'
    readonly query: never
    readonly body: MfaVerifySmsInput
    readonly answer: Authentication
  }
  'mfa.verifyTotp': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/totp/verify'
    readonly query: never
    readonly body: MfaVerifyTotpInput
    readonly answer: Authentication
  }
  'oauth.authorize': {
    readonly method: 'GET'
    readonly path: 'auth/authorize'
    readonly query: 'response_type' | 'client_id' | 'redirect_uri' | 'scope' | 'state' | 'code_challenge' | 'code_challenge_method' | 'allowed_tables' | 'resource'
    readonly body: undefined
    readonly answer: OauthAuthorizeResult | OAuthError | OauthAuthorizeResult401
  }
  'oauth.consent': {
    readonly method: 'POST'
    readonly path: 'auth/authorize/consent'
    readonly query: never
    readonly body: OauthConsentInput
    readonly answer: OauthConsentResult | OAuthError | OauthConsentResult401
  }
  'oauth.introspect': {
    readonly method: 'POST'
    readonly path: 'auth/introspect'
    readonly query: never
    readonly body: undefined
    readonly answer: OauthIntrospectResult | OAuthError
  }
  'oauth.listGrants': {
    readonly method: 'GET'
    readonly path: 'auth/grants'
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<OAuthGrant>
  }
  'oauth.register': {
    readonly method: 'POST'
    readonly path: 'auth/clients'
    readonly query: never
    readonly body: OauthRegisterInput
    readonly answer: OauthRegisterResult | OAuthError
  }
  'oauth.resourceMetadata': {
    readonly method: 'GET'
    readonly path: '/.well-known/oauth-protected-resource'
    readonly query: never
    readonly body: undefined
    readonly answer: {
      readonly [name: string]: unknown
    }
  }
  'oauth.revoke': {
    readonly method: 'POST'
    readonly path: 'auth/revoke'
    readonly query: never
    readonly body: undefined
    readonly answer: object | OAuthError
  }
  'oauth.revokeGrant': {
    readonly method: 'DELETE'
    readonly path: `auth/grants/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'oauth.serverMetadata': {
    readonly method: 'GET'
    readonly path: '/.well-known/oauth-authorization-server'
    readonly query: never
    readonly body: undefined
    readonly answer: {
      readonly [name: string]: unknown
    }
  }
  'oauth.token': {
    readonly method: 'POST'
    readonly path: 'auth/token'
    readonly query: never
    readonly body: undefined
    readonly answer: OAuthTokens | OAuthError
  }
  'oauthClients.create': {
    readonly method: 'POST'
    readonly path: 'admin/oauth/clients'
    readonly query: never
    readonly body: OauthClientsCreateInput
    readonly answer: OauthClientsCreateResult
  }
  'oauthClients.get': {
    readonly method: 'GET'
    readonly path: `admin/oauth/clients/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: OAuthClient
  }
  'oauthClients.list': {
    readonly method: 'GET'
    readonly path: 'admin/oauth/clients'
    readonly query: 'page' | 'perPage' | 'appId'
    readonly body: undefined
    readonly answer: OAuthClientPage
  }
  'oauthClients.listGrants': {
    readonly method: 'GET'
    readonly path: `admin/oauth/clients/${string}/grants`
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<OAuthGrantOfUser>
  }
  'oauthClients.revoke': {
    readonly method: 'DELETE'
    readonly path: `admin/oauth/clients/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'oauthClients.rotateSecret': {
    readonly method: 'POST'
    readonly path: `admin/oauth/clients/${string}/rotate-secret`
    readonly query: never
    readonly body: undefined
    readonly answer: OauthClientsRotateSecretResult
  }
  'oauthClients.update': {
    readonly method: 'PUT'
    readonly path: `admin/oauth/clients/${string}`
    readonly query: never
    readonly body: OauthClientsUpdateInput
    readonly answer: OAuthClient
  }
  'overview.configuration': {
    readonly method: 'GET'
    readonly path: 'admin/configuration'
    readonly query: never
    readonly body: undefined
    readonly answer: EffectiveSettingList
  }
  'overview.report': {
    readonly method: 'GET'
    readonly path: 'admin/report'
    readonly query: never
    readonly body: undefined
    readonly answer: ServerReport
  }
  'overview.server': {
    readonly method: 'GET'
    readonly path: 'admin/server'
    readonly query: never
    readonly body: undefined
    readonly answer: OverviewServerResult
  }
  'overview.tables': {
    readonly method: 'GET'
    readonly path: 'admin/tables'
    readonly query: 'search' | 'limit'
    readonly body: undefined
    readonly answer: OverviewTablesResult
  }
  'passkeys.beginDiscoverableSignIn': {
    readonly method: 'POST'
    readonly path: 'auth/webauthn/login/discover/begin'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeyRequestOptions
  }
  'passkeys.beginSignIn': {
    readonly method: 'POST'
    readonly path: 'auth/webauthn/login/begin'
    readonly query: never
    readonly body: PasskeysBeginSignInInput
    readonly answer: PasskeyRequestOptions
  }
  'passkeys.challenge': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/webauthn/challenge'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeyRequestOptions
  }
  'passkeys.confirm': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/webauthn/enroll/confirm'
    readonly query: never
    readonly body: PasskeysConfirmInput
    readonly answer: Message
  }
  'passkeys.enroll': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/webauthn/enroll'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeyCreationOptions
  }
  'passkeys.finishDiscoverableSignIn': {
    readonly method: 'POST'
    readonly path: 'auth/webauthn/login/discover/finish'
    readonly query: never
    readonly body: PasskeyAssertion
    readonly answer: Authentication
  }
  'passkeys.finishSignIn': {
    readonly method: 'POST'
    readonly path: 'auth/webauthn/login/finish'
    readonly query: never
    readonly body: PasskeyAssertion
    readonly answer: Authentication
  }
  'passkeys.list': {
    readonly method: 'GET'
    readonly path: 'auth/mfa/webauthn/credentials'
    readonly query: never
    readonly body: undefined
    readonly answer: PasskeysListResult
  }
  'passkeys.remove': {
    readonly method: 'DELETE'
    readonly path: `auth/mfa/webauthn/credentials/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'passkeys.removeAll': {
    readonly method: 'DELETE'
    readonly path: 'auth/mfa/webauthn'
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'passkeys.rename': {
    readonly method: 'PATCH'
    readonly path: `auth/mfa/webauthn/credentials/${string}`
    readonly query: never
    readonly body: PasskeysRenameInput
    readonly answer: Passkey
  }
  'passkeys.verify': {
    readonly method: 'POST'
    readonly path: 'auth/mfa/webauthn/verify'
    readonly query: never
    readonly body: PasskeyAssertion
    readonly answer: Authentication
  }
  'push.changeProvider': {
    readonly method: 'PUT'
    readonly path: `admin/push/providers/${string}`
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: PushProvider
  }
  'push.getDelivery': {
    readonly method: 'GET'
    readonly path: `admin/push/deliveries/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: PushDelivery
  }
  'push.getSend': {
    readonly method: 'GET'
    readonly path: `admin/push/sends/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: PushSend
  }
  'push.getWebPushKey': {
    readonly method: 'GET'
    readonly path: 'push/web-push-key'
    readonly query: never
    readonly body: undefined
    readonly answer: PushGetWebPushKeyResult
  }
  'push.listDeliveries': {
    readonly method: 'GET'
    readonly path: 'admin/push/deliveries'
    readonly query: 'app_id' | 'user_id' | 'send_id' | 'device_token_id' | 'status' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: PushListDeliveriesResult
  }
  'push.listDevices': {
    readonly method: 'GET'
    readonly path: 'admin/push/devices'
    readonly query: 'app_id' | 'user_id' | 'include_inactive' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: PushListDevicesResult
  }
  'push.listOwnDevices': {
    readonly method: 'GET'
    readonly path: 'push/devices'
    readonly query: 'app_id' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: PushListOwnDevicesResult
  }
  'push.listProviders': {
    readonly method: 'GET'
    readonly path: 'admin/push/providers'
    readonly query: never
    readonly body: undefined
    readonly answer: PushListProvidersResult
  }
  'push.registerDevice': {
    readonly method: 'POST'
    readonly path: 'admin/push/devices'
    readonly query: never
    readonly body: PushRegisterDeviceInput
    readonly answer: PushDevice
  }
  'push.registerOwnDevice': {
    readonly method: 'POST'
    readonly path: 'push/devices'
    readonly query: never
    readonly body: PushRegisterOwnDeviceInput
    readonly answer: PushDevice
  }
  'push.resetProvider': {
    readonly method: 'DELETE'
    readonly path: `admin/push/providers/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'push.revokeDevice': {
    readonly method: 'DELETE'
    readonly path: `admin/push/devices/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'push.revokeOwnDevice': {
    readonly method: 'DELETE'
    readonly path: `push/devices/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'push.send': {
    readonly method: 'POST'
    readonly path: 'admin/push/send'
    readonly query: never
    readonly body: PushSendInput
    readonly answer: PushSendResult
  }
  'push.sendAsProgram': {
    readonly method: 'POST'
    readonly path: 'push/send'
    readonly query: never
    readonly body: PushSendAsProgramInput
    readonly answer: PushSendAsProgramResult
  }
  'push.sendToDevice': {
    readonly method: 'POST'
    readonly path: 'admin/push/send-to-token'
    readonly query: never
    readonly body: PushSendToDeviceInput
    readonly answer: PushDelivery
  }
  'realtime.adminStream': {
    readonly method: 'GET'
    readonly path: 'admin/realtime/stream'
    readonly query: 'tables' | 'filter' | 'lastEventId'
    readonly body: undefined
    readonly answer: undefined
  }
  'realtime.disconnect': {
    readonly method: 'POST'
    readonly path: `admin/realtime/connections/${string}/disconnect`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'realtime.listConnections': {
    readonly method: 'GET'
    readonly path: 'admin/realtime/connections'
    readonly query: never
    readonly body: undefined
    readonly answer: RealtimeConnectionList
  }
  'realtime.listSubscriptions': {
    readonly method: 'GET'
    readonly path: 'admin/realtime/subscriptions'
    readonly query: never
    readonly body: undefined
    readonly answer: RealtimeSubscriptionList
  }
  'realtime.preview': {
    readonly method: 'GET'
    readonly path: 'admin/realtime/preview'
    readonly query: 'as' | 'reason' | 'tables' | 'filter' | 'since' | 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: RealtimePreview
  }
  'realtime.stats': {
    readonly method: 'GET'
    readonly path: 'admin/realtime/stats'
    readonly query: never
    readonly body: undefined
    readonly answer: RealtimeStats
  }
  'realtime.stream': {
    readonly method: 'GET'
    readonly path: 'realtime'
    readonly query: 'tables' | 'filter' | 'lastEventId' | 'token' | 'oauth'
    readonly body: undefined
    readonly answer: undefined
  }
  'realtime.websocket': {
    readonly method: 'GET'
    readonly path: 'realtime/ws'
    readonly query: 'token'
    readonly body: undefined
    readonly answer: undefined
  }
  'rpc.call': {
    readonly method: 'POST'
    readonly path: `rpc/${string}`
    readonly query: 'filter' | 'sort' | 'fields' | 'page' | 'perPage' | 'skipTotal'
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: unknown
  }
  'rpc.read': {
    readonly method: 'GET'
    readonly path: `rpc/${string}`
    readonly query: 'filter' | 'sort' | 'fields' | 'page' | 'perPage' | 'skipTotal'
    readonly body: undefined
    readonly answer: unknown
  }
  'schedules.create': {
    readonly method: 'POST'
    readonly path: 'admin/schedules'
    readonly query: never
    readonly body: SchedulesCreateInput
    readonly answer: Schedule
  }
  'schedules.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/schedules/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'schedules.disable': {
    readonly method: 'POST'
    readonly path: `admin/schedules/${string}/disable`
    readonly query: never
    readonly body: undefined
    readonly answer: Schedule
  }
  'schedules.enable': {
    readonly method: 'POST'
    readonly path: `admin/schedules/${string}/enable`
    readonly query: never
    readonly body: undefined
    readonly answer: Schedule
  }
  'schedules.list': {
    readonly method: 'GET'
    readonly path: 'admin/schedules'
    readonly query: never
    readonly body: undefined
    readonly answer: ScheduleList
  }
  'schedules.update': {
    readonly method: 'PUT'
    readonly path: `admin/schedules/${string}`
    readonly query: never
    readonly body: SchedulesUpdateInput
    readonly answer: Schedule
  }
  'schema.get': {
    readonly method: 'GET'
    readonly path: 'schema'
    readonly query: never
    readonly body: undefined
    readonly answer: Schema
  }
  'search.describe': {
    readonly method: 'GET'
    readonly path: `admin/search/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: SearchDescription
  }
  'search.disable': {
    readonly method: 'POST'
    readonly path: `admin/search/${string}/disable`
    readonly query: never
    readonly body: undefined
    readonly answer: SearchChange
  }
  'search.enable': {
    readonly method: 'POST'
    readonly path: `admin/search/${string}/enable`
    readonly query: never
    readonly body: undefined
    readonly answer: SearchChange
  }
  'search.getSettings': {
    readonly method: 'GET'
    readonly path: `collections/${string}/search-settings`
    readonly query: never
    readonly body: undefined
    readonly answer: SearchSettings
  }
  'search.getSynonyms': {
    readonly method: 'GET'
    readonly path: `collections/${string}/synonyms`
    readonly query: never
    readonly body: undefined
    readonly answer: SearchSynonyms
  }
  'search.list': {
    readonly method: 'GET'
    readonly path: 'admin/search'
    readonly query: never
    readonly body: undefined
    readonly answer: SearchListResult
  }
  'search.replaceSettings': {
    readonly method: 'PUT'
    readonly path: `collections/${string}/search-settings`
    readonly query: never
    readonly body: SearchSettingsInput
    readonly answer: SearchSettings
  }
  'search.replaceSynonyms': {
    readonly method: 'PUT'
    readonly path: `collections/${string}/synonyms`
    readonly query: never
    readonly body: SearchSynonymsInput
    readonly answer: SearchSynonyms
  }
  'secrets.list': {
    readonly method: 'GET'
    readonly path: 'admin/secrets'
    readonly query: never
    readonly body: undefined
    readonly answer: SecretList
  }
  'secrets.set': {
    readonly method: 'PUT'
    readonly path: `admin/secrets/${string}`
    readonly query: never
    readonly body: SecretsSetInput
    readonly answer: Secret
  }
  'secrets.unset': {
    readonly method: 'DELETE'
    readonly path: `admin/secrets/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'sites.addFiles': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys/${string}/manifest`
    readonly query: never
    readonly body: SitesAddFilesInput
    readonly answer: SitesAddFilesResult
  }
  'sites.checkTls': {
    readonly method: 'GET'
    readonly path: 'sites/tls-check'
    readonly query: 'domain'
    readonly body: undefined
    readonly answer: SitesCheckTlsResult
  }
  'sites.create': {
    readonly method: 'POST'
    readonly path: 'admin/sites'
    readonly query: never
    readonly body: SitesCreateInput
    readonly answer: Site
  }
  'sites.createDeploy': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys`
    readonly query: never
    readonly body: undefined
    readonly answer: Deploy
  }
  'sites.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/sites/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'sites.failDeploy': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys/${string}/fail`
    readonly query: never
    readonly body: SitesFailDeployInput
    readonly answer: Deploy
  }
  'sites.get': {
    readonly method: 'GET'
    readonly path: `admin/sites/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Site
  }
  'sites.getDeploy': {
    readonly method: 'GET'
    readonly path: `admin/sites/${string}/deploys/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Deploy
  }
  'sites.list': {
    readonly method: 'GET'
    readonly path: 'admin/sites'
    readonly query: 'page' | 'perPage'
    readonly body: undefined
    readonly answer: SitePage
  }
  'sites.listDeploys': {
    readonly method: 'GET'
    readonly path: `admin/sites/${string}/deploys`
    readonly query: 'page' | 'perPage'
    readonly body: undefined
    readonly answer: DeployPage
  }
  'sites.promoteDeploy': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys/${string}/promote`
    readonly query: never
    readonly body: undefined
    readonly answer: Deploy
  }
  'sites.rollback': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys/rollback`
    readonly query: never
    readonly body: undefined
    readonly answer: Deploy
  }
  'sites.update': {
    readonly method: 'PUT'
    readonly path: `admin/sites/${string}`
    readonly query: never
    readonly body: SitesUpdateInput
    readonly answer: Site
  }
  'sites.uploadFile': {
    readonly method: 'POST'
    readonly path: `admin/sites/${string}/deploys/${string}/files`
    readonly query: never
    readonly body: undefined
    readonly answer: Deploy
  }
  'sms.getOwn': {
    readonly method: 'GET'
    readonly path: `messaging/sms/messages/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: SmsMessage
  }
  'sms.health': {
    readonly method: 'GET'
    readonly path: 'admin/sms/health'
    readonly query: never
    readonly body: undefined
    readonly answer: SmsHealthResult
  }
  'sms.list': {
    readonly method: 'GET'
    readonly path: 'admin/sms/messages'
    readonly query: 'page' | 'perPage'
    readonly body: undefined
    readonly answer: SmsMessagePage
  }
  'sms.listOwn': {
    readonly method: 'GET'
    readonly path: 'messaging/sms/messages'
    readonly query: 'limit'
    readonly body: undefined
    readonly answer: ReadonlyArray<SmsMessage>
  }
  'sms.reportStatus': {
    readonly method: 'POST'
    readonly path: 'webhooks/sms/status'
    readonly query: never
    readonly body: {
      readonly [name: string]: unknown
    }
    readonly answer: object
  }
  'sms.send': {
    readonly method: 'POST'
    readonly path: 'admin/sms/send'
    readonly query: never
    readonly body: SmsSendInput
    readonly answer: SmsSendResult
  }
  'sms.sendOwn': {
    readonly method: 'POST'
    readonly path: 'messaging/sms/send'
    readonly query: never
    readonly body: SmsSendOwnInput
    readonly answer: SmsMessage
  }
  'socialLogin.beginLink': {
    readonly method: 'POST'
    readonly path: 'auth/link/oauth/begin'
    readonly query: never
    readonly body: SocialLoginBeginLinkInput
    readonly answer: SocialLoginBeginLinkResult
  }
  'socialLogin.finish': {
    readonly method: 'GET'
    readonly path: `auth/oauth/${string}/callback`
    readonly query: never
    readonly body: undefined
    readonly answer: SocialLoginFinishResult
  }
  'socialLogin.finishForm': {
    readonly method: 'POST'
    readonly path: `auth/oauth/${string}/callback`
    readonly query: never
    readonly body: undefined
    readonly answer: SocialLoginFinishFormResult
  }
  'socialLogin.link': {
    readonly method: 'POST'
    readonly path: 'auth/link/oauth'
    readonly query: never
    readonly body: SocialLoginLinkInput
    readonly answer: Authentication
  }
  'socialLogin.listIdentities': {
    readonly method: 'GET'
    readonly path: 'auth/identities'
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<ProviderIdentity>
  }
  'socialLogin.start': {
    readonly method: 'GET'
    readonly path: `auth/oauth/${string}`
    readonly query: 'redirect_to' | 'state' | 'scopes' | 'link' | 'confirm'
    readonly body: undefined
    readonly answer: undefined
  }
  'socialLogin.unlink': {
    readonly method: 'DELETE'
    readonly path: 'auth/link/oauth'
    readonly query: never
    readonly body: SocialLoginUnlinkInput
    readonly answer: undefined
  }
  'socialProviders.list': {
    readonly method: 'GET'
    readonly path: 'admin/auth/providers'
    readonly query: never
    readonly body: undefined
    readonly answer: SocialProvidersListResult
  }
  'socialProviders.reset': {
    readonly method: 'DELETE'
    readonly path: `admin/auth/providers/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'socialProviders.test': {
    readonly method: 'POST'
    readonly path: `admin/auth/providers/${string}/test`
    readonly query: never
    readonly body: undefined
    readonly answer: SocialProvidersTestResult
  }
  'socialProviders.update': {
    readonly method: 'PUT'
    readonly path: `admin/auth/providers/${string}`
    readonly query: never
    readonly body: SocialProvidersUpdateInput
    readonly answer: SignInProvider
  }
  'sql.cancel': {
    readonly method: 'POST'
    readonly path: `admin/sql/runs/${string}/cancel`
    readonly query: never
    readonly body: undefined
    readonly answer: SqlCancelResult
  }
  'sql.changeSaved': {
    readonly method: 'PUT'
    readonly path: `admin/sql/saved/${string}`
    readonly query: never
    readonly body: SqlChangeSavedInput
    readonly answer: SavedSql
  }
  'sql.deleteTab': {
    readonly method: 'DELETE'
    readonly path: `admin/sql/tabs/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'sql.explain': {
    readonly method: 'POST'
    readonly path: 'admin/sql/explain'
    readonly query: never
    readonly body: SqlExplainInput
    readonly answer: SqlExplainResult
  }
  'sql.forgetSaved': {
    readonly method: 'DELETE'
    readonly path: `admin/sql/saved/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'sql.getRun': {
    readonly method: 'GET'
    readonly path: `admin/sql/runs/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: SqlRun
  }
  'sql.getSaved': {
    readonly method: 'GET'
    readonly path: `admin/sql/saved/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: SavedSql
  }
  'sql.listRuns': {
    readonly method: 'GET'
    readonly path: 'admin/sql/runs'
    readonly query: 'q' | 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: SqlListRunsResult
  }
  'sql.listSaved': {
    readonly method: 'GET'
    readonly path: 'admin/sql/saved'
    readonly query: 'q' | 'limit' | 'cursor'
    readonly body: undefined
    readonly answer: SqlListSavedResult
  }
  'sql.listSchemas': {
    readonly method: 'GET'
    readonly path: 'admin/sql/schemas'
    readonly query: never
    readonly body: undefined
    readonly answer: SqlListSchemasResult
  }
  'sql.listTabs': {
    readonly method: 'GET'
    readonly path: 'admin/sql/tabs'
    readonly query: never
    readonly body: undefined
    readonly answer: SqlListTabsResult
  }
  'sql.nameSchema': {
    readonly method: 'GET'
    readonly path: `admin/sql/schemas/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: SqlSchemaNames
  }
  'sql.putTab': {
    readonly method: 'PUT'
    readonly path: `admin/sql/tabs/${string}`
    readonly query: never
    readonly body: SqlPutTabInput
    readonly answer: undefined
  }
  'sql.run': {
    readonly method: 'POST'
    readonly path: 'admin/sql'
    readonly query: never
    readonly body: SqlRunInput
    readonly answer: SqlResult
  }
  'sql.save': {
    readonly method: 'POST'
    readonly path: 'admin/sql/saved'
    readonly query: never
    readonly body: SqlSaveInput
    readonly answer: SavedSql
  }
  'stats.get': {
    readonly method: 'GET'
    readonly path: 'admin/stats'
    readonly query: never
    readonly body: undefined
    readonly answer: StatsGetResult
  }
  'storage.addToUpload': {
    readonly method: 'PATCH'
    readonly path: `storage/upload/resumable/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.applyTemplate': {
    readonly method: 'POST'
    readonly path: `admin/rls/templates/storage-objects/${string}`
    readonly query: never
    readonly body: StorageApplyTemplateInput
    readonly answer: AppliedStorageTemplate
  }
  'storage.beginUpload': {
    readonly method: 'POST'
    readonly path: 'storage/upload/resumable'
    readonly query: 'bucket' | 'name'
    readonly body: undefined
    readonly answer: ResumableUpload
  }
  'storage.copy': {
    readonly method: 'POST'
    readonly path: `storage/${string}/${string}/copy`
    readonly query: never
    readonly body: StorageCopyInput
    readonly answer: StorageObject
  }
  'storage.createBucket': {
    readonly method: 'POST'
    readonly path: 'storage/buckets'
    readonly query: never
    readonly body: StorageCreateBucketInput
    readonly answer: Bucket
  }
  'storage.delete': {
    readonly method: 'DELETE'
    readonly path: `storage/${string}/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.deleteBucket': {
    readonly method: 'DELETE'
    readonly path: `storage/buckets/${string}`
    readonly query: 'force'
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.download': {
    readonly method: 'GET'
    readonly path: `storage/${string}/${string}`
    readonly query: 'exp' | 'sig' | 'download' | 'w' | 'h' | 'fit' | 'crop' | 'q' | 'format'
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.endUpload': {
    readonly method: 'DELETE'
    readonly path: `storage/upload/resumable/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.getQuota': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/storage-quota`
    readonly query: never
    readonly body: undefined
    readonly answer: StorageQuota
  }
  'storage.list': {
    readonly method: 'GET'
    readonly path: `storage/${string}`
    readonly query: 'prefix' | 'delimiter' | 'limit' | 'cursor' | 'offset' | 'skipTotal'
    readonly body: undefined
    readonly answer: StorageObjectList
  }
  'storage.listBuckets': {
    readonly method: 'GET'
    readonly path: 'storage/buckets'
    readonly query: never
    readonly body: undefined
    readonly answer: BucketList
  }
  'storage.move': {
    readonly method: 'POST'
    readonly path: `storage/${string}/${string}/move`
    readonly query: never
    readonly body: StorageMoveInput
    readonly answer: StorageObject
  }
  'storage.overrideUploadMethod': {
    readonly method: 'POST'
    readonly path: `storage/upload/resumable/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'storage.put': {
    readonly method: 'PUT'
    readonly path: `storage/${string}/${string}`
    readonly query: 'exp' | 'sig'
    readonly body: undefined
    readonly answer: StorageObject
  }
  'storage.revokeAddresses': {
    readonly method: 'POST'
    readonly path: `storage/${string}/${string}/revoke`
    readonly query: never
    readonly body: undefined
    readonly answer: StorageRevokeAddressesResult
  }
  'storage.setQuota': {
    readonly method: 'PUT'
    readonly path: `admin/users/${string}/storage-quota`
    readonly query: never
    readonly body: StorageSetQuotaInput
    readonly answer: StorageQuota
  }
  'storage.sign': {
    readonly method: 'POST'
    readonly path: `storage/${string}/${string}/sign`
    readonly query: never
    readonly body: StorageSignInput
    readonly answer: SignedAddress
  }
  'storage.signUpload': {
    readonly method: 'POST'
    readonly path: `storage/${string}/${string}/sign-upload`
    readonly query: never
    readonly body: StorageSignUploadInput
    readonly answer: SignedAddress
  }
  'storage.updateBucket': {
    readonly method: 'PUT'
    readonly path: `storage/buckets/${string}`
    readonly query: never
    readonly body: StorageUpdateBucketInput
    readonly answer: Bucket
  }
  'storage.upload': {
    readonly method: 'POST'
    readonly path: `storage/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: StorageObject
  }
  'structure.apply': {
    readonly method: 'POST'
    readonly path: 'admin/structure/apply'
    readonly query: never
    readonly body: StructureApplyInput
    readonly answer: AppliedMigration
  }
  'structure.diagram': {
    readonly method: 'GET'
    readonly path: 'admin/structure/diagram'
    readonly query: 'schema' | 'aroundSchema' | 'aroundName'
    readonly body: undefined
    readonly answer: StructureDiagram
  }
  'structure.get': {
    readonly method: 'GET'
    readonly path: `admin/structure/relations/${string}/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: StructureRelation
  }
  'structure.list': {
    readonly method: 'GET'
    readonly path: 'admin/structure/relations'
    readonly query: 'schema' | 'q' | 'afterSchema' | 'afterName' | 'limit'
    readonly body: undefined
    readonly answer: StructureListResult
  }
  'structure.migration': {
    readonly method: 'GET'
    readonly path: `admin/structure/migrations/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: StructureMigrationResult
  }
  'structure.migrations': {
    readonly method: 'GET'
    readonly path: 'admin/structure/migrations'
    readonly query: never
    readonly body: undefined
    readonly answer: MigrationStatus
  }
  'structure.objects': {
    readonly method: 'GET'
    readonly path: 'admin/structure/objects'
    readonly query: never
    readonly body: undefined
    readonly answer: StructureObjects
  }
  'structure.plan': {
    readonly method: 'POST'
    readonly path: 'admin/structure/plan'
    readonly query: never
    readonly body: StructurePlanInput
    readonly answer: StructurePlan
  }
  'support.answer': {
    readonly method: 'POST'
    readonly path: `admin/support/tickets/${string}/messages`
    readonly query: never
    readonly body: SupportAnswerInput
    readonly answer: TicketMessage
  }
  'support.change': {
    readonly method: 'PUT'
    readonly path: `admin/support/tickets/${string}`
    readonly query: never
    readonly body: SupportChangeInput
    readonly answer: TicketWithMessages
  }
  'support.get': {
    readonly method: 'GET'
    readonly path: `admin/support/tickets/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: TicketWithMessages
  }
  'support.getAttachment': {
    readonly method: 'GET'
    readonly path: `admin/support/tickets/${string}/messages/${string}/attachments/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'support.getOwn': {
    readonly method: 'GET'
    readonly path: `support/tickets/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: TicketWithMessages
  }
  'support.list': {
    readonly method: 'GET'
    readonly path: 'admin/support/tickets'
    readonly query: 'page' | 'perPage' | 'status' | 'user_id' | 'search'
    readonly body: undefined
    readonly answer: TicketPage
  }
  'support.listOwn': {
    readonly method: 'GET'
    readonly path: 'support/tickets'
    readonly query: 'page' | 'perPage' | 'status'
    readonly body: undefined
    readonly answer: TicketPage
  }
  'support.open': {
    readonly method: 'POST'
    readonly path: 'support/tickets'
    readonly query: never
    readonly body: SupportOpenInput
    readonly answer: TicketWithMessages
  }
  'support.receiveMail': {
    readonly method: 'POST'
    readonly path: 'webhooks/support/email'
    readonly query: never
    readonly body: undefined
    readonly answer: SupportReceiveMailResult
  }
  'support.write': {
    readonly method: 'POST'
    readonly path: `support/tickets/${string}/messages`
    readonly query: never
    readonly body: SupportWriteInput
    readonly answer: TicketMessage
  }
  'tables.applyChanges': {
    readonly method: 'POST'
    readonly path: `admin/tables/${string}/changes`
    readonly query: never
    readonly body: TablesApplyChangesInput
    readonly answer: ReadonlyArray<{
      /** Index of the operation. */
      readonly index: number
      readonly status: number
      readonly body?: TableRecord
      readonly before?: TableRecord
      readonly etag?: string
    }>
  }
  'tables.cell': {
    readonly method: 'GET'
    readonly path: `admin/tables/${string}/cell`
    readonly query: 'id' | 'column'
    readonly body: undefined
    readonly answer: TablesCellResult
  }
  'tables.count': {
    readonly method: 'GET'
    readonly path: `admin/tables/${string}/count`
    readonly query: 'filter' | 'search' | 'as' | 'reason' | 'most'
    readonly body: undefined
    readonly answer: TablesCountResult
  }
  'tables.get': {
    readonly method: 'GET'
    readonly path: `admin/tables/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: GridTable
  }
  'tables.rows': {
    readonly method: 'GET'
    readonly path: `admin/tables/${string}/rows`
    readonly query: 'filter' | 'search' | 'as' | 'reason' | 'columns' | 'sort' | 'limit' | 'after' | 'before' | 'from' | 'id' | 'maxCost'
    readonly body: undefined
    readonly answer: GridPage
  }
  'usage.breakdown': {
    readonly method: 'GET'
    readonly path: 'admin/usage/breakdown'
    readonly query: 'period' | 'from' | 'to' | 'metric' | 'group_by' | 'limit'
    readonly body: undefined
    readonly answer: UsageBreakdownResult
  }
  'usage.get': {
    readonly method: 'GET'
    readonly path: `admin/usage/${string}`
    readonly query: 'period' | 'from' | 'to'
    readonly body: undefined
    readonly answer: TenantUsage
  }
  'usage.getLimits': {
    readonly method: 'GET'
    readonly path: `admin/usage/${string}/limits`
    readonly query: 'period' | 'from' | 'to'
    readonly body: undefined
    readonly answer: TenantLimits
  }
  'usage.getOwn': {
    readonly method: 'GET'
    readonly path: 'usage'
    readonly query: 'period' | 'from' | 'to'
    readonly body: undefined
    readonly answer: TenantUsage
  }
  'usage.getOwnLimits': {
    readonly method: 'GET'
    readonly path: 'usage/limits'
    readonly query: 'period' | 'from' | 'to'
    readonly body: undefined
    readonly answer: TenantLimits
  }
  'usage.list': {
    readonly method: 'GET'
    readonly path: 'admin/usage'
    readonly query: 'period' | 'from' | 'to' | 'sort' | 'limit' | 'offset'
    readonly body: undefined
    readonly answer: UsageListResult
  }
  'usage.setPlan': {
    readonly method: 'PUT'
    readonly path: `admin/usage/${string}/plan`
    readonly query: never
    readonly body: UsageSetPlanInput
    readonly answer: TenantLimits
  }
  'usage.trends': {
    readonly method: 'GET'
    readonly path: 'admin/usage/trends'
    readonly query: 'period' | 'from' | 'to' | 'metric' | 'granularity'
    readonly body: undefined
    readonly answer: UsageTrendsResult
  }
  'users.create': {
    readonly method: 'POST'
    readonly path: 'admin/users'
    readonly query: never
    readonly body: UsersCreateInput
    readonly answer: AdminUser
  }
  'users.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.disable': {
    readonly method: 'POST'
    readonly path: `admin/users/${string}/disable`
    readonly query: never
    readonly body: undefined
    readonly answer: AdminUser
  }
  'users.enable': {
    readonly method: 'POST'
    readonly path: `admin/users/${string}/enable`
    readonly query: never
    readonly body: undefined
    readonly answer: AdminUser
  }
  'users.endSession': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/sessions/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.endSessions': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/sessions`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.get': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: AdminUser
  }
  'users.impersonate': {
    readonly method: 'POST'
    readonly path: `admin/users/${string}/impersonate`
    readonly query: never
    readonly body: UsersImpersonateInput
    readonly answer: UsersImpersonateResult
  }
  'users.list': {
    readonly method: 'GET'
    readonly path: 'admin/users'
    readonly query: 'page' | 'perPage' | 'cursor' | 'skipTotal' | 'total' | 'search' | 'disabled' | 'anonymous' | 'verified' | 'factor' | 'provider'
    readonly body: undefined
    readonly answer: UsersListResult
  }
  'users.listFactors': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/factors`
    readonly query: never
    readonly body: undefined
    readonly answer: UsersListFactorsResult
  }
  'users.listGrants': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/grants`
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<OAuthGrantOfUser>
  }
  'users.listIdentities': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/identities`
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<ProviderIdentity>
  }
  'users.listPasskeys': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/passkeys`
    readonly query: never
    readonly body: undefined
    readonly answer: UsersListPasskeysResult
  }
  'users.listProviderTokens': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/provider-tokens`
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<ProviderTokens>
  }
  'users.listSessions': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/sessions`
    readonly query: never
    readonly body: undefined
    readonly answer: ReadonlyArray<Session>
  }
  'users.names': {
    readonly method: 'GET'
    readonly path: 'admin/users/names'
    readonly query: 'ids'
    readonly body: undefined
    readonly answer: UsersNamesResult
  }
  'users.previewDeletion': {
    readonly method: 'GET'
    readonly path: `admin/users/${string}/deletion`
    readonly query: never
    readonly body: undefined
    readonly answer: UsersPreviewDeletionResult
  }
  'users.removeFactor': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/factors/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.removeIdentity': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/identities/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.removePasskey': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/passkeys/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.removeProviderTokens': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/provider-tokens/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.resetFactors': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/factors`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.revokeGrant': {
    readonly method: 'DELETE'
    readonly path: `admin/users/${string}/grants/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'users.sendMail': {
    readonly method: 'POST'
    readonly path: `admin/users/${string}/mail`
    readonly query: never
    readonly body: UsersSendMailInput
    readonly answer: Message
  }
  'users.update': {
    readonly method: 'PATCH'
    readonly path: `admin/users/${string}`
    readonly query: never
    readonly body: UsersUpdateInput
    readonly answer: AdminUser
  }
  'vectorIndexes.create': {
    readonly method: 'POST'
    readonly path: 'admin/vector/indexes'
    readonly query: never
    readonly body: CreateVectorIndex
    readonly answer: CreatedVectorIndex
  }
  'vectorIndexes.delete': {
    readonly method: 'DELETE'
    readonly path: `admin/vector/indexes/${string}`
    readonly query: 'schema'
    readonly body: undefined
    readonly answer: undefined
  }
  'vectorIndexes.list': {
    readonly method: 'GET'
    readonly path: 'admin/vector/indexes'
    readonly query: never
    readonly body: undefined
    readonly answer: VectorIndexesListResult
  }
  'webhooks.create': {
    readonly method: 'POST'
    readonly path: 'webhooks'
    readonly query: never
    readonly body: WebhooksCreateInput
    readonly answer: Webhook
  }
  'webhooks.delete': {
    readonly method: 'DELETE'
    readonly path: `webhooks/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: undefined
  }
  'webhooks.get': {
    readonly method: 'GET'
    readonly path: `webhooks/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: Webhook
  }
  'webhooks.getDelivery': {
    readonly method: 'GET'
    readonly path: `webhooks/${string}/deliveries/${string}`
    readonly query: never
    readonly body: undefined
    readonly answer: WebhookDelivery
  }
  'webhooks.list': {
    readonly method: 'GET'
    readonly path: 'webhooks'
    readonly query: never
    readonly body: undefined
    readonly answer: WebhooksListResult
  }
  'webhooks.listDeliveries': {
    readonly method: 'GET'
    readonly path: `webhooks/${string}/deliveries`
    readonly query: 'page' | 'perPage' | 'failed_only'
    readonly body: undefined
    readonly answer: WebhookDeliveryPage
  }
  'webhooks.replay': {
    readonly method: 'POST'
    readonly path: `webhooks/${string}/deliveries/${string}/replay`
    readonly query: never
    readonly body: undefined
    readonly answer: WebhookDelivery
  }
  'webhooks.replayRange': {
    readonly method: 'POST'
    readonly path: `webhooks/${string}/replays`
    readonly query: never
    readonly body: WebhooksReplayRangeInput
    readonly answer: WebhooksReplayRangeResult
  }
  'webhooks.test': {
    readonly method: 'POST'
    readonly path: `webhooks/${string}/test`
    readonly query: never
    readonly body: undefined
    readonly answer: WebhookTrial
  }
  'webhooks.try': {
    readonly method: 'POST'
    readonly path: `webhooks/${string}/deliveries/${string}/try`
    readonly query: never
    readonly body: WebhooksTryInput
    readonly answer: WebhookTrial
  }
  'webhooks.update': {
    readonly method: 'PATCH'
    readonly path: `webhooks/${string}`
    readonly query: never
    readonly body: WebhooksUpdateInput
    readonly answer: Webhook
  }
}
