import { defineErrors } from '../../../lib/errors.ts'

/** Errors in the common format of the API. Protocol errors have a format of their own, see `protocol-error.ts`. */
export const oauthServerErrorTable = {
  oauthProviderDisabled: {
    status: 404,
    message: 'the OAuth provider is not enabled',
    help: 'Set `auth.oauth_provider.enabled`.',
  },
  clientRegistrationDisabled: {
    status: 404,
    message: 'dynamic client registration is not enabled',
    help: 'Set `auth.oauth_provider.dynamic_registration`, or have an administrator register the client.',
  },
  invalidOauthClient: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body is missing or malformed, or the client does not allow the operation. The message names the problem.',
  },
  oauthClientNotFound: {
    status: 404,
    message: 'oauth client not found',
    help: 'No client has this `clientId`, or it is already revoked.',
  },
  invalidGrantId: {
    status: 400,
    message: 'invalid grant id format',
    help: 'Grant ids are UUIDs. `GET /api/auth/grants` lists them.',
  },
  grantNotFound: {
    status: 404,
    message: 'grant not found',
    help: 'The grant does not exist, belongs to another user, or is already revoked.',
  },
} as const

export const oauthServerErrors = defineErrors(oauthServerErrorTable)
