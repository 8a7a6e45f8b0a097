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
    help: 'Expected an address on the host of `auth.oauth_redirect_url` or on one of `auth.oauth_return_to_allowlist`.',
  },
  providerDenied: {
    status: 400,
    message: 'OAuth authentication was denied or failed',
    help: 'The provider answered with an error, for example because the person did not consent.',
  },
  invalidState: {
    status: 400,
    message: 'invalid or expired OAuth state',
    help: 'A sign-in is finished once, within ten minutes, in the browser that began it.',
  },
  invalidFormData: {
    status: 400,
    message: 'invalid form data',
    help: 'A provider that answers by POST sends `application/x-www-form-urlencoded`.',
  },
  missingCode: {
    status: 400,
    message: 'missing authorization code',
    help: 'The provider sent the browser back without a code.',
  },
  providerFailed: {
    status: 502,
    message: 'failed to authenticate with provider',
    help: 'The provider rejected the code or gave an unusable answer. The log has the reason.',
  },
  userInfoFailed: {
    status: 502,
    message: 'failed to fetch user info from provider',
    help: 'The provider rejected the access token or gave an unusable answer.',
  },
  signInRefused: {
    status: 401,
    message: 'this account cannot sign in',
    help: 'The account is disabled or was deleted meanwhile.',
  },
  invalidPopup: {
    status: 400,
    message: 'this sign-in was not started in this browser',
    help: 'The stream that waits for the tokens must have been opened by the same browser, within five minutes.',
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
    help: 'There is nothing to do.',
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
