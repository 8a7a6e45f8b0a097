import { createPrivateKey } from 'node:crypto'
import { signJwt } from '../../../../lib/signed-jwt.ts'
import { type ClientSettings, objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Apple: https://developer.apple.com/documentation/signinwithapplerestapi */
export const apple: Provider = {
  title: 'Apple',
  endpoints: () => ({
    issuer: 'https://appleid.apple.com',
    authorize: 'https://appleid.apple.com/auth/authorize',
    token: 'https://appleid.apple.com/auth/token',
    jwks: 'https://appleid.apple.com/auth/keys',
  }),
  scopes: ['name', 'email'],
  authentication: 'body',
  acceptsPkce: false,
  // Apple requires it for any scope.
  responseMode: 'form_post',
  requiredExtra: ['team_id', 'key_id', 'private_key'],
  createClientSecret: signClientSecret,
  identifiesByIdToken: true,
  readProfile({ claims, form }) {
    return {
      subject: requireText(claims.sub, 'sub'),
      email: textOf(claims.email),
      isEmailVerified: claims.email_verified === true || claims.email_verified === 'true',
      name: nameIn(form.get('user')),
    }
  },
}

/** Returns the name, which Apple sends only the first time, and only in the form. */
function nameIn(user: string | null): string | undefined {
  try {
    const { firstName, lastName } = objectOf(objectOf(JSON.parse(user ?? '{}')).name)
    return textOf([firstName, lastName].filter((part) => typeof part === 'string').join(' '))
  } catch {
    return undefined
  }
}

/** Creates a JWT signed with ES256 (RFC 7518 §3.4), for one request. */
function signClientSecret({ clientId, extra }: ClientSettings, now: Date): string {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const claims = {
    iss: extra.team_id,
    iat: issuedAt,
    exp: issuedAt + 300,
    aud: 'https://appleid.apple.com',
    sub: clientId,
  }
  const key = createPrivateKey(requireText(extra.private_key, 'private key'))
  return signJwt('ES256', key, claims, { kid: extra.key_id })
}
