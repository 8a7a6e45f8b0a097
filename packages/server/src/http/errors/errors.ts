import { defineErrors } from '../../lib/errors.ts'

/** Errors of the HTTP platform itself. */
export const httpErrorTable = {
  invalidRequest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A parameter or a body member has the wrong form. The message names it and says what was expected.',
  },
  unknownParameter: {
    status: 400,
    message: (name: string, suggestion: string) => `unknown parameter "${name}"${suggestion}`,
    help: 'The endpoint has no such query parameter. The message suggests the nearest name. Names that begin with `_` are ignored.',
  },
  invalidListParameter: {
    status: 400,
    message: (name: string, expected: string) => `invalid ${name}${expected === '' ? '' : `; ${expected}`}`,
    help: 'A parameter of a list or a report has an invalid value. The message says what was expected.',
  },
  reversedTimeRange: {
    status: 400,
    message: (to: string, from: string) => `${to} filter must be greater than or equal to ${from} filter`,
    help: 'The time range of a list ends before it begins.',
  },
  invalidJson: {
    status: 400,
    message: 'invalid JSON body',
    help: 'The body is not valid JSON in UTF-8.',
  },
  jsonTooDeep: {
    status: 400,
    message: (levels: number) => `invalid JSON body: nested too deeply (max ${levels} levels)`,
    help: 'Arrays and objects in the body are nested too deeply.',
  },
  malformedRequest: {
    status: 400,
    message: 'malformed HTTP request',
    help: 'The request does not follow HTTP/1.1, or its path is not valid percent-encoded UTF-8.',
  },
  missingAuthorization: {
    status: 401,
    message: 'missing or invalid authorization header',
    help: 'Send `Authorization: Bearer <token>`.',
  },
  authenticationRequired: {
    status: 401,
    message: 'authentication required',
    help: 'Send `Authorization: Bearer <token>`, or the parameter `token` where headers cannot be set.',
  },
  invalidToken: {
    status: 401,
    message: 'invalid or expired token',
    help: 'The token was not issued by this server, has expired, or its session has ended. Sign in again.',
  },
  mfaRequired: {
    status: 401,
    message: 'MFA verification required',
    help: 'The first factor has passed. Verify a second one to get an access token.',
  },
  noPendingMfa: {
    status: 401,
    message: 'no MFA challenge pending',
    help: 'Send the `mfa_token` that the sign-in returned. It is valid for five minutes.',
  },
  insufficientAal: {
    status: 403,
    message: 'MFA verification is required for this action',
    help: 'The session has passed one factor. Sign in again and verify the second one.',
  },
  insufficientScope: {
    status: 403,
    message: (problem: string) => problem,
    help: 'API keys and OAuth tokens read the collections that they allow, and write them unless their scope is `readonly`. They send mail, text messages and push notifications with the actions that an administrator has granted. Accounts, keys and the administration are for people: sign in.',
  },
  tokenAddressRefused: {
    status: 403,
    message: 'the token may not be used from this address',
    help: 'The administrator has limited the token to some addresses. If you use a proxy, name it in `server.trusted_proxies`.',
  },
  stepUpRequired: {
    status: 403,
    message: 'this operation requires a second factor of the last ten minutes',
    help: 'Send a code or a passkey to `POST /api/admin/account/step-up`, or authenticate again at the provider by `POST /api/admin/account/step-up/oidc`. Then repeat the request. A token of a program cannot do so: create one with `"passesStepUp": true`.',
  },
  secondFactorRequired: {
    status: 403,
    message: 'enrol a second factor first',
    help: '`admin.require_second_factor` is set. `POST /api/admin/account/factors/totp` or `POST /api/admin/account/passkeys` begins the enrolment.',
  },
  insufficientRole: {
    status: 403,
    message: (roles: string) => `your role may not do this; it takes one of: ${roles}`,
    help: 'The member `data.roles` lists the roles of administrators that may. An owner changes roles with `PATCH /api/admin/administrators/{id}`.',
  },
  impersonationRefused: {
    status: 403,
    message: 'an administrator who acts as a user may not use this endpoint',
    help: 'The token of an impersonation gives access to data and files as the user sees them. Only the user can use the account, its sessions, factors and keys.',
  },
  adminRequired: {
    status: 401,
    message: 'admin authentication required',
    help: 'Sign in with `POST /api/admin/auth` and send its token.',
  },
  dashboardHeaderRequired: {
    status: 403,
    message: 'a session in a cookie needs the header x-basalt-dashboard: 1',
    help: "Browsers send the administrator's cookie by themselves, so it counts only with the header `x-basalt-dashboard: 1`, which the dashboard sends. Programs send a token of `POST /api/admin/auth` as `Authorization: Bearer <token>`.",
  },
  accessDenied: {
    status: 403,
    message: 'Your IP address is not in the allowlist',
    help: 'The dashboard and the administration API are available only to the addresses in `admin.allowed_ips`. If you use a proxy, name it in `server.trusted_proxies`.',
  },
  crossSiteRequest: {
    status: 403,
    message: 'a session in a cookie is for pages of this server: Origin must be its own',
    help: '`Origin` is missing or names another server, or `Sec-Fetch-Site` is not `same-origin`. If you use a proxy, let it forward `Host`, or set `server.public_base_url`.',
  },
  foreignPage: {
    status: 403,
    message: 'with auth.enabled = false only programs and pages of this machine may call',
    help: '`Origin` or `Host` names another machine. Add the origin to `server.cors_allowed_origins` or set `server.public_base_url`. `server.insecure_open = true` opens the API to every page.',
  },
  routeNotFound: {
    status: 404,
    message: (method: string, path: string) => `no such endpoint: ${method} ${path}`,
    help: 'The API has no such path. See the API reference.',
  },
  methodNotAllowed: {
    status: 405,
    message: (method: string, allowed: string) => `${method} is not allowed here: use ${allowed}`,
    help: 'The path exists with other methods, which the `Allow` header lists.',
  },
  requestTimeout: {
    status: 408,
    message: 'the request did not arrive in time',
    help: 'Headers or body took longer than `server.header_timeout` or `server.request_timeout`.',
  },
  bodyTooLarge: {
    status: 413,
    message: (limit: number) => `the request body is larger than ${limit} bytes`,
    help: "The limit is the route's own, or `server.body_limit` where it has none.",
  },
  unsupportedMediaType: {
    status: 415,
    message: (expected: string) => `the content type must be ${expected}`,
    help: 'Send the body in that format and name it in `Content-Type`.',
  },
  unsupportedContentEncoding: {
    status: 415,
    message: (accepted: string) => `Content-Encoding of the request body: expected ${accepted}`,
    help: 'JSON bodies may be encoded by `gzip`, once. Files, forms and signed bodies are sent as they are, without `Content-Encoding`.',
  },
  preconditionFailed: {
    status: 412,
    message: (problem = 'precondition failed') => problem,
    help: 'The record or file does not meet `If-Match`, `If-None-Match` or `If-Unmodified-Since` (RFC 9110 §13), because another client changed it after you read it. Nothing was written. For a record, `ETag` and `data.etag` have the current tag, if it exists. Read it again and decide which changes to keep.',
  },
  invalidGzipBody: {
    status: 400,
    message: 'the request body is not in the gzip format, or is incomplete',
    help: 'The request has `Content-Encoding: gzip`, but its body cannot be decoded (RFC 1952).',
  },
  tooManyRequests: {
    status: 429,
    message: 'too many requests',
    help: 'Wait for the number of seconds in the `Retry-After` header.',
  },
  breachedPassword: {
    status: 400,
    message: (field: string) => `${field} has appeared in a data breach: choose another one`,
    help: 'Attackers try passwords of known breaches first. `auth.refuse_breached_passwords` turns the check on and off.',
  },
  batchAboveRateLimit: {
    status: 400,
    message: (count: number, limit: number) =>
      `operations: expected at most ${limit}, the requests allowed per minute, not ${count}`,
    help: 'A batch counts by its operations for `limits.requests_per_minute`, and this one has more than a whole minute allows. Send several batches.',
  },
  appRateLimitExceeded: {
    status: 429,
    message: 'app rate limit exceeded',
    help: 'The app of the API key has used its `rateLimitRps` requests in the last `rateLimitWindowSeconds`. Wait for the number of seconds in the `Retry-After` header.',
  },
  headersTooLarge: {
    status: 431,
    message: 'the request headers are too large',
    help: 'Path, query and headers together may take 16 KiB.',
  },
  internalError: {
    status: 500,
    message: 'internal error',
    help: 'The server has failed. Its log has the details under the `X-Request-Id` of the response.',
  },
  shuttingDown: {
    status: 503,
    message: 'server is shutting down',
    help: 'Retry: another node or the restarted server will respond.',
  },
  invalidWebhookSignature: {
    status: 403,
    message: 'invalid webhook signature',
    help: 'The signature of the callback is missing, stale or wrong, or the provider is not configured. It covers the bytes of the body and, with some providers, the URL that they call. See the guide on callbacks.',
  },
} as const

export const httpErrors = defineErrors(httpErrorTable)
