import { isObject, parseJson } from '../../../../lib/json.ts'

/** Unchecked JSON object from a provider. */
export type Json = Readonly<Record<string, unknown>>

/** Profile of a person at a provider. */
export interface Profile {
  /** Id of the person at the provider. */
  readonly subject: string
  readonly email?: string | undefined
  /** True if the provider says that the address belongs to the person. */
  readonly isEmailVerified: boolean
  readonly name?: string | undefined
  /** All claims of an OpenID provider. Those of the id_token win over those of the userinfo. */
  readonly claims?: Json | undefined
}

/** Client of this server at a provider. */
export interface ClientSettings {
  readonly clientId: string
  readonly clientSecret: string
  readonly storesTokens: boolean
  /** Keys that only this provider has, by the name in the configuration. */
  readonly extra: Readonly<Record<string, string>>
}

export interface Endpoints {
  /** Issuer. It is compared with `iss` if the provider sends it (RFC 9207). */
  readonly issuer?: string
  readonly authorize: string
  readonly token: string
  /** Address of the keys that sign id_tokens. With it the id_token is verified, including the nonce. */
  readonly jwks?: string
}

export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>
}

/** API of a provider, from which its description reads a person's profile. */
export interface ProviderApi {
  readonly settings: ClientSettings
  readonly accessToken: string
  /** Response of the token endpoint. It is empty if a caller sent the access token. */
  readonly tokenResponse: Json
  /** Claims of that response's id_token. They are empty without one. */
  readonly claims: Json
  /** Form that the provider posted with the code (Apple: `user`). */
  readonly form: URLSearchParams
  /** Sends a GET request with the access token. @throws ProviderFailure unless the response is JSON with status 200 */
  get(url: string, options?: GetOptions): Promise<Json>
  getList(url: string): Promise<readonly Json[]>
  /**
   * Returns the userinfo of an OpenID provider, or an empty object if it has no such endpoint.
   *
   * @throws ProviderFailure
   */
  fetchUserInfo(): Promise<Json>
  /** Sends a request of the client itself. Returns undefined unless the response is JSON with status 200. */
  request(url: string, options: RequestOptions): Promise<Json | undefined>
}

export interface RequestOptions extends GetOptions {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
}

/** Audience of an access token, as far as the provider reports it. */
export type Audience = 'ours' | 'foreign' | 'unknown'

/** Provider, with all values that differ between providers. */
export interface Provider {
  readonly title: string
  readonly endpoints: (settings: ClientSettings) => Endpoints
  readonly scopes: readonly string[]
  /** Authentication of the client at the token endpoint (RFC 6749 §2.3.1). */
  readonly authentication: 'basic' | 'body'
  /** True if the provider accepts PKCE (RFC 7636). */
  readonly acceptsPkce: boolean
  readonly authorizeParameters?: Readonly<Record<string, string>>
  readonly responseMode?: 'form_post'
  /** Required keys of {@link ClientSettings.extra}. The client secret is required unless the provider makes one. */
  readonly requiredExtra?: readonly string[]
  /** Makes the client secret, where it is not a fixed text. */
  readonly createClientSecret?: (settings: ClientSettings, now: Date) => string
  readonly tokenRequestFormat?: 'json'
  /**
   * True if access tokens identify no user, so that applications send the id_token. It requires {@link
   * Endpoints.jwks} and an issuer.
   */
  readonly identifiesByIdToken?: true
  readonly readProfile: (api: ProviderApi) => Promise<Profile> | Profile
  /** Finds the audience of an access token. Missing where the provider does not report it. */
  readonly findAudience?: (api: ProviderApi) => Promise<Audience> | Audience
}

/** Error for an unusable provider response. The message is for the log. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
}

/** Returns a required text of a response. @throws ProviderFailure */
export function requireText(value: unknown, name: string): string {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  if (typeof value !== 'string' || value === '') throw new ProviderFailure(`the response has no ${name}`)
  return value
}

export function textOf(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value.trim() !== '')
}

export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function audienceIs(actual: unknown, settings: ClientSettings): Audience {
  return actual === settings.clientId ? 'ours' : 'foreign'
}

/** Returns the payload of a JWT that came directly from its issuer by TLS (OpenID Connect Core §3.1.3.7, step 6). */
export function decodeClaims(token: unknown): Json {
  if (typeof token !== 'string') return {}
  const [, payload = ''] = token.split('.')
  return objectOf(parseJson(Buffer.from(payload, 'base64url').toString('utf8')))
}
