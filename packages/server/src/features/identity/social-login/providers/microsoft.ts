import { audienceIs, decodeClaims, type Provider, ProviderFailure, requireText, textOf } from './provider.ts'

/** Microsoft: https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow */
export const microsoft: Provider = {
  title: 'Microsoft',
  endpoints({ extra }) {
    const base = `https://login.microsoftonline.com/${extra.tenant_id ?? 'common'}/oauth2/v2.0`
    return { authorize: `${base}/authorize`, token: `${base}/token` }
  },
  scopes: ['openid', 'profile', 'email', 'User.Read'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const { claims, settings } = api
    if (claims.aud !== undefined && claims.aud !== settings.clientId) {
      throw new ProviderFailure('the id_token is for another client')
    }
    const user = await api.get('https://graph.microsoft.com/v1.0/me')
    // An address in a directory proves nothing, because administrators of a tenant can write any address. The claim
    // xms_edov says that the domain's owner was verified.
    const isVerified = [true, 1, '1', 'true'].some((value) => value === claims.xms_edov)
    return {
      subject: requireText(user.id, 'id'),
      email: isVerified ? textOf(claims.email) : textOf(user.mail, user.userPrincipalName),
      isEmailVerified: isVerified,
      name: textOf(user.displayName),
    }
  },
  findAudience({ accessToken, settings }) {
    // Microsoft Graph has accepted the token, so its claims are genuine. Tokens of personal accounts are opaque.
    const { appid } = decodeClaims(accessToken)
    return appid === undefined ? 'unknown' : audienceIs(appid, settings)
  },
}
