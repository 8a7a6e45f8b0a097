import { audienceIs, decodeClaims, type Provider, requireText, textOf } from './provider.ts'

/** Title of an OpenID provider, and the requested scopes. */
export interface OidcDescription {
  readonly title: string
  readonly scopes: readonly string[]
}

/** Creates an OpenID provider, whose endpoints come from its discovery document (OpenID Connect Discovery §4). */
export function createOidcProvider({ title, scopes }: OidcDescription): Provider {
  return {
    title,
    endpoints: () => ({ authorize: '', token: '' }),
    scopes,
    authentication: 'basic',
    acceptsPkce: true,
    async readProfile({ claims, fetchUserInfo }) {
      const isWhole = claims.sub !== undefined && claims.email !== undefined
      const user = isWhole ? claims : { ...claims, ...(await fetchUserInfo()) }
      return {
        subject: requireText(user.sub, 'sub'),
        email: textOf(user.email),
        isEmailVerified: user.email_verified === true || user.email_verified === 'true',
        name: textOf(user.name, user.preferred_username),
      }
    },
    findAudience({ accessToken, settings }) {
      // The userinfo endpoint has accepted the token, so its claims are genuine. An opaque token has none.
      const { azp, client_id: clientId, aud } = decodeClaims(accessToken)
      const client = azp ?? clientId
      if (client !== undefined) return audienceIs(client, settings)
      if (aud === undefined) return 'unknown'
      return (Array.isArray(aud) ? aud : [aud]).includes(settings.clientId) ? 'ours' : 'foreign'
    },
  }
}
