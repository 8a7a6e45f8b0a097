import { audienceIs, decodeClaims, type Json, type Provider, requireText, textOf } from './provider.ts'

/** Title of an OpenID provider, and the requested scopes. */
export interface OidcDescription {
  readonly title: string
  readonly scopes: readonly string[]
  /** Claims beside `email` that are read from the userinfo if the id_token lacks them. */
  readonly claims?: readonly string[]
}

/** Creates an OpenID provider, whose endpoints come from its discovery document (OpenID Connect Discovery §4). */
export function createOidcProvider({ title, scopes, claims: needed = [] }: OidcDescription): Provider {
  return {
    title,
    endpoints: () => ({ authorize: '', token: '' }),
    scopes,
    authentication: 'basic',
    acceptsPkce: true,
    async readProfile({ claims, fetchUserInfo }) {
      const isWhole = ['sub', 'email', ...needed].every((name) => claims[name] !== undefined)
      const info: Json = isWhole ? {} : await fetchUserInfo()
      const user = { ...claims, ...info }
      // One document vouches for the address that it contains, not for that of the other.
      const { email, email_verified: isVerified } = info.email === undefined ? claims : info
      return {
        subject: requireText(user.sub, 'sub'),
        email: textOf(email),
        isEmailVerified: isVerified === true || isVerified === 'true',
        name: textOf(user.name, user.preferred_username),
        claims: { ...user, ...claims },
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
