import { defineErrors } from '../../lib/errors.ts'

/** What the HTTP platform itself refuses. */
export const httpErrorTable = {
  invalidRequest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A parameter or a member of the body has the wrong form; the message names it and what was expected.',
  },
  unknownParameter: {
    status: 400,
    message: (name: string, suggestion: string) => `unknown parameter "${name}"${suggestion}`,
    help: 'The endpoint has no such query parameter; the message names the nearest one. Names that begin with `_` are ignored.',
  },
  invalidListParameter: {
    status: 400,
    message: (name: string, expected: string) => `invalid ${name}${expected === '' ? '' : `; ${expected}`}`,
    help: 'A parameter of a list or a report has a value that it cannot take; the message says what was expected.',
  },
  reversedTimeRange: {
    status: 400,
    message: (to: string, from: string) => `${to} filter must be greater than or equal to ${from} filter`,
    help: 'The range of time of a list ends before it begins.',
  },
  invalidJson: {
    status: 400,
    message: 'invalid JSON body',
    help: 'The body is not valid JSON in UTF-8.',
  },
  jsonTooDeep: {
    status: 400,
    message: (levels: number) => `invalid JSON body: nested too deeply (max ${levels} levels)`,
    help: 'Arrays and objects of the body stand in each other too many levels deep.',
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
    help: 'The token is not one of this server, has expired, or its session has ended. Sign in again.',
  },
  mfaRequired: {
    status: 401,
    message: 'MFA verification required',
    help: 'The first factor has passed; verify a second one to get an access token.',
  },
  noPendingMfa: {
    status: 401,
    message: 'no MFA challenge pending',
    help: 'Send the `mfa_token` that the sign-in answered; it lasts five minutes.',
  },
  insufficientAal: {
    status: 403,
    message: 'MFA verification is required for this action',
    help: 'The session has passed one factor. Sign in again and verify the second one.',
  },
  insufficientScope: {
    status: 403,
    message: (problem: string) => problem,
    help: 'An API key or a token of an OAuth client reads and, unless its scope is `readonly`, writes the collections it allows; it sends mail, text messages and push notifications with the actions that an administrator has granted to it. Accounts, keys and the administration are for people: sign in.',
  },
  impersonationRefused: {
    status: 403,
    message: 'an administrator who acts as a user may not use this endpoint',
    help: 'The token of an impersonation opens data and files as the user sees them. The account, its sessions, factors and keys are for the user alone.',
  },
  adminRequired: {
    status: 401,
    message: 'admin authentication required',
    help: 'Sign in with `POST /api/admin/auth` and send its token.',
  },
  dashboardHeaderRequired: {
    status: 403,
    message: 'a session in a cookie needs the header x-basalt-dashboard: 1',
    help: "The administrator's cookie comes along by itself, so it counts only with the header `x-basalt-dashboard: 1`, which the dashboard sends. Programs send a token of `POST /api/admin/auth` as `Authorization: Bearer <token>`.",
  },
  accessDenied: {
    status: 403,
    message: 'Your IP address is not in the allowlist',
    help: 'The dashboard and the API of administration answer the addresses in `admin.allowed_ips` only. Behind a proxy, `server.trusted_proxies` must name it.',
  },
  crossSiteRequest: {
    status: 403,
    message: 'a session in a cookie is for pages of this server: Origin must be its own',
    help: "`Origin` is missing or another server's, or `Sec-Fetch-Site` is not `same-origin`. Behind a proxy, pass `Host` on or set `server.public_base_url`.",
  },
  foreignPage: {
    status: 403,
    message: 'with auth.enabled = false only programs and pages of this machine may call',
    help: '`Origin` or `Host` names another machine. Name the origin in `server.cors_allowed_origins` or set `server.public_base_url`; `server.insecure_open = true` opens the API to every page.',
  },
  routeNotFound: {
    status: 404,
    message: (method: string, path: string) => `no such endpoint: ${method} ${path}`,
    help: 'The path is not one of the API; see the API reference.',
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
    help: 'The limit of the route; `server.body_limit` where it has none of its own.',
  },
  unsupportedMediaType: {
    status: 415,
    message: (expected: string) => `the content type must be ${expected}`,
    help: 'Send the body in that form, and name it in `Content-Type`.',
  },
  unsupportedContentEncoding: {
    status: 415,
    message: 'the request body must not be encoded: no content encoding is accepted',
    help: 'Send the body as it is, without `Content-Encoding`.',
  },
  tooManyRequests: {
    status: 429,
    message: 'too many requests',
    help: 'Wait for the number of seconds in the `Retry-After` header.',
  },
  appRateLimitExceeded: {
    status: 429,
    message: 'app rate limit exceeded',
    help: 'The app of the API key has used its `rateLimitRps` requests of the last `rateLimitWindowSeconds`. Wait for the number of seconds in the `Retry-After` header.',
  },
  headersTooLarge: {
    status: 431,
    message: 'the request headers are too large',
    help: 'Path, query and headers together may take 16 KiB.',
  },
  internalError: {
    status: 500,
    message: 'internal error',
    help: 'A fault of the server. Its log has the details under the `X-Request-Id` of the response.',
  },
  shuttingDown: {
    status: 503,
    message: 'server is shutting down',
    help: 'Try again; another node or the next start will answer.',
  },
  invalidWebhookSignature: {
    status: 403,
    message: 'invalid webhook signature',
    help: 'The signature of the callback is missing, stale or wrong, or the provider is not configured. It covers the bytes of the body and, with some providers, the address that they call: see the guide on callbacks.',
  },
} as const

export const httpErrors = defineErrors(httpErrorTable)
