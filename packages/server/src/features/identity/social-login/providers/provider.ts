import { isObject, parseJson } from '../../../../lib/json.ts'

/** JSON object of a provider, of which nothing is known yet. */
export type Json = Readonly<Record<string, unknown>>

/** Person as a provider describes them. */
export interface Profile {
  /** Id of the person at the provider. */
  readonly subject: string
  readonly email?: string | undefined
  /** True if the provider says that the address belongs to the person. */
  readonly isEmailVerified: boolean
  readonly name?: string | undefined
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
  /** Compared with `iss` where the provider sends it (RFC 9207). */
  readonly issuer?: string
  readonly authorize: string
  readonly token: string
  /** Keys that sign id_tokens; with it the id_token is verified, nonce included. */
  readonly jwks?: string
}

export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>
}

/** API of a provider, which its description reads a person's profile from. */
export interface ProviderApi {
  readonly settings: ClientSettings
  readonly accessToken: string
  /** Response of the token endpoint; empty where a caller brought the access token. */
  readonly tokenAnswer: Json
  /** Claims of the id_token of that answer; empty without one. */
  readonly claims: Json
  /** Form that the provider posted with the code (Apple: `user`). */
  readonly form: URLSearchParams
  /** GET with the access token. @throws ProviderFailure unless the answer is JSON with status 200 */
  get(url: string, options?: GetOptions): Promise<Json>
  getList(url: string): Promise<readonly Json[]>
  /** Returns the userinfo of an OpenID provider; empty where it has no such endpoint. @throws ProviderFailure */
  fetchUserInfo(): Promise<Json>
  /** Sends a request of the client itself; undefined when the response is not JSON with status 200. */
  request(url: string, options: RequestOptions): Promise<Json | undefined>
}

export interface RequestOptions extends GetOptions {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
}

/** Audience of an access token, as far as the provider reports it. */
export type Audience = 'ours' | 'foreign' | 'unknown'

/** Provider. Everything that differs between providers is in these values. */
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
  /** Keys of {@link ClientSettings.extra} that must be set; the client secret is required unless one makes it. */
  readonly requiredExtra?: readonly string[]
  /** Makes the client secret, where it is not a fixed text. */
  readonly createClientSecret?: (settings: ClientSettings, now: Date) => string
  readonly tokenRequestFormat?: 'json'
  /** Its access tokens open nothing: applications bring the id_token. It needs {@link Endpoints.jwks} and an issuer. */
  readonly identifiesByIdToken?: true
  readonly readProfile: (api: ProviderApi) => Promise<Profile> | Profile
  /** Absent where the provider has no way to ask. */
  readonly findAudience?: (api: ProviderApi) => Promise<Audience> | Audience
}

/** Error for a response of the provider that cannot be used. The message is for the log. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
}

/** @throws ProviderFailure */
export function requireText(value: unknown, what: string): string {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  if (typeof value !== 'string' || value === '') throw new ProviderFailure(`the answer has no ${what}`)
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

/** Returns the payload of a JWT that came straight from its issuer by TLS (OpenID Connect Core §3.1.3.7, step 6). */
export function decodeClaims(token: unknown): Json {
  if (typeof token !== 'string') return {}
  const [, payload = ''] = token.split('.')
  return objectOf(parseJson(Buffer.from(payload, 'base64url').toString('utf8')))
}
