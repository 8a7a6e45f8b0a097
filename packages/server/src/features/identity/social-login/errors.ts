import { defineErrors } from '../../../lib/errors.ts'

export const socialLoginErrorTable = {
  providerNotConfigured: {
    status: 404,
    message: (provider: string) => `OAuth provider "${provider}" not configured`,
    help: 'Set `auth.oauth.<provider>.enabled` and its client, or `auth.oidc.<name>`.',
  },
  linkProviderNotConfigured: {
    status: 400,
    message: (provider: string) => `OAuth provider "${provider}" not configured`,
    help: 'Set `auth.oauth.<provider>.enabled` and its client, or `auth.oidc.<name>`.',
  },
  invalidRedirectTo: {
    status: 400,
    message: 'invalid redirect_to',
    help: 'Send an address on the host of `auth.oauth_redirect_url` or on a host of `auth.oauth_return_to_allowlist`.',
  },
  providerDenied: {
    status: 400,
    message: 'OAuth authentication was denied or failed',
    help: 'The provider responded with an error, for example because the user did not consent.',
  },
  invalidState: {
    status: 400,
    message: 'invalid or expired OAuth state',
    help: 'A sign-in finishes once, within ten minutes, in the browser that began it.',
  },
  invalidFormData: {
    status: 400,
    message: 'invalid form data',
    help: 'A provider that responds by POST sends `application/x-www-form-urlencoded`.',
  },
  missingCode: {
    status: 400,
    message: 'missing authorization code',
    help: 'The provider redirected the browser without a code.',
  },
  providerFailed: {
    status: 502,
    message: 'failed to authenticate with provider',
    help: 'The provider rejected the code or sent an unusable response. The log has the reason.',
  },
  userInfoFailed: {
    status: 502,
    message: 'failed to fetch user info from provider',
    help: 'The provider rejected the access token or sent an unusable response.',
  },
  signInRefused: {
    status: 401,
    message: 'this account cannot sign in',
    help: 'The account is disabled or was deleted in the meantime.',
  },
  invalidPopup: {
    status: 400,
    message: 'this sign-in was not started in this browser',
    help: 'The same browser must have opened the stream that waits for the tokens, within five minutes.',
  },
  invalidIdToken: {
    status: 400,
    message: 'invalid id_token',
    help: 'The provider has not signed the id_token, or it has expired.',
  },
  foreignToken: {
    status: 400,
    message: 'access token was issued to another client',
    help: 'Only tokens that the provider issued to the configured client are accepted.',
  },
  identityOfAnother: {
    status: 409,
    message: 'OAuth identity already belongs to another account',
    help: 'Sign in with the provider, or unlink the identity from the other account first.',
  },
  identityAlreadyLinked: {
    status: 409,
    message: 'OAuth identity already linked to this account',
    help: 'No action is needed.',
  },
  identityNotFound: {
    status: 404,
    message: 'OAuth identity link not found',
    help: '`GET /api/auth/identities` lists the identities of the account.',
  },
  lastWayIn: {
    status: 409,
    message: 'cannot remove the last way to sign in',
    help: 'Set a password, add a passkey or link another provider first.',
  },
  unknownProvider: {
    status: 404,
    message: (provider: string) => `unknown sign-in provider "${provider}"`,
    help: '`GET /api/admin/auth/providers` lists the providers.',
  },
} as const

export const socialLoginErrors = defineErrors(socialLoginErrorTable)
