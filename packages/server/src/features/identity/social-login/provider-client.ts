import type { Configuration, ServerMetadata } from 'openid-client'
import type { Clock } from '../../../lib/clock.ts'
import { codeOf, messageOf } from '../../../lib/errors.ts'
import { isOfFuture, verifyIdToken } from './id-token.ts'
import { createLibraryFetch } from './library-fetch.ts'
import { createProviderApi } from './provider-api.ts'
import {
  type Audience,
  audienceIs,
  type ClientSettings,
  decodeClaims,
  type Json,
  objectOf,
  type Profile,
  type Provider,
  type ProviderApi,
  ProviderFailure,
} from './providers/provider.ts'
import type { Transport } from './transport.ts'

/** Lifetime of a provider's discovery document. */
const discoveryMs = 24 * 60 * 60 * 1000

/** Error codes of token endpoints for a refresh token that has ended: RFC 6749 §5.2, GitHub. */
const revokedErrors: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token'])

/** Values that bind a provider's response to its request. */
export interface Binding {
  readonly redirectUri: string
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

/** Tokens issued by a provider. */
export interface ProviderTokens {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  readonly expiresInSeconds?: number | undefined
}

export interface ClientDeps {
  readonly transport: Transport
  readonly clock: Clock
}

/** Client of one provider, for this server. The library is loaded at first use. */
export class ProviderClient {
  readonly provider: Provider
  readonly settings: ClientSettings
  readonly #deps: ClientDeps
  #discovered: { readonly metadata: Promise<ServerMetadata>; readonly until: number } | undefined

  constructor(provider: Provider, settings: ClientSettings, deps: ClientDeps) {
    this.provider = provider
    this.settings = settings
    this.#deps = deps
  }

  /**
   * Returns the address that the browser is redirected to.
   *
   * @param more further parameters of the authorization request
   * @throws ProviderFailure
   */
  async createAuthorizationUrl(binding: Binding, more: Readonly<Record<string, string>> = {}): Promise<URL> {
    const { provider } = this
    const library = await import('openid-client')
    return await this.#use(async (configuration) => {
      const codeChallenge = await library.calculatePKCECodeChallenge(binding.codeVerifier)
      return library.buildAuthorizationUrl(configuration, {
        ...provider.authorizeParameters,
        ...more,
        redirect_uri: binding.redirectUri,
        response_type: 'code',
        state: binding.state,
        ...(provider.scopes.length === 0 ? {} : { scope: provider.scopes.join(' ') }),
        ...(provider.acceptsPkce ? { code_challenge: codeChallenge, code_challenge_method: 'S256' } : {}),
        ...(this.#verifiesIdToken ? { nonce: binding.nonce } : {}),
        ...(provider.responseMode === undefined ? {} : { response_mode: provider.responseMode }),
      })
    })
  }

  /**
   * Redeems the code of an authorization response and reads the profile of its owner.
   *
   * @param parameters of the authorization response
   * @throws ProviderFailure
   */
  async redeem(
    parameters: URLSearchParams,
    binding: Binding,
  ): Promise<{ readonly profile: Profile; readonly tokens: ProviderTokens }> {
    const { provider } = this
    const library = await import('openid-client')
    const responses: Json[] = []
    return await this.#use(async (configuration) => {
      const url = new URL(binding.redirectUri)
      for (const name of ['code', 'state', 'iss']) {
        for (const value of parameters.getAll(name)) url.searchParams.append(name, value)
      }
      // Without a known issuer there is no value to compare it with. Each provider has its own callback.
      if (!this.#knowsIssuer) url.searchParams.delete('iss')
      const tokens = await library.authorizationCodeGrant(configuration, url, {
        expectedState: binding.state,
        ...(provider.acceptsPkce ? { pkceCodeVerifier: binding.codeVerifier } : {}),
        ...(this.#verifiesIdToken ? { expectedNonce: binding.nonce, idTokenExpected: true } : {}),
      })
      const tokenResponse = responses[0] ?? {}
      const claims = objectOf(tokens.claims() ?? decodeClaims(tokenResponse.id_token))
      if (isOfFuture(claims, this.#deps.clock.now()))
        throw new ProviderFailure('the id_token is of the future')
      const api = this.#createApi(configuration, tokens.access_token, {
        tokenResponse,
        claims,
        form: parameters,
      })
      return { profile: await provider.readProfile(api), tokens: this.#tokensOf(tokens) }
    }, responses)
  }

  /** Returns the owner of an access token, and whether it was issued to this client. @throws ProviderFailure */
  async inspect(accessToken: string): Promise<{ readonly profile: Profile; readonly audience: Audience }> {
    const { provider } = this
    return await this.#use(async (configuration) => {
      const api = this.#createApi(configuration, accessToken, {
        tokenResponse: {},
        claims: {},
        form: new URLSearchParams(),
      })
      const profile = await provider.readProfile(api)
      return { profile, audience: (await provider.findAudience?.(api)) ?? 'unknown' }
    })
  }

  /**
   * Returns the owner of an id_token that an application sends, and whether it was issued to this client.
   *
   * @returns undefined when it is not one of the provider, or has expired
   * @throws ProviderFailure
   */
  async inspectIdToken(
    idToken: string,
  ): Promise<{ readonly profile: Profile; readonly audience: Audience } | undefined> {
    const { provider, settings } = this
    const { issuer = '', jwks = '' } = provider.endpoints(settings)
    return await this.#use(async (configuration) => {
      const api = this.#createApi(configuration, '', {
        tokenResponse: {},
        claims: {},
        form: new URLSearchParams(),
      })
      const listed = (await api.request(jwks, {}))?.keys
      if (!Array.isArray(listed)) throw new ProviderFailure(`GET ${jwks}: no keys`)
      const keys = listed.map(objectOf)
      const claims = verifyIdToken(idToken, { keys, issuer, now: this.#deps.clock.now() })
      if (claims === undefined) return undefined
      const profile = await provider.readProfile({ ...api, claims })
      return { profile, audience: audienceIs(claims.aud, settings) }
    })
  }

  /**
   * Refreshes the tokens.
   *
   * @returns undefined when the provider has revoked the refresh token
   * @throws ProviderFailure
   */
  async refresh(refreshToken: string): Promise<ProviderTokens | undefined> {
    const library = await import('openid-client')
    return await this.#use(async (configuration) => {
      try {
        const response = await library.refreshTokenGrant(configuration, refreshToken)
        // A provider that does not rotate refresh tokens sends none.
        return { refreshToken, ...this.#tokensOf(response) }
      } catch (error) {
        if (error instanceof library.ResponseBodyError && revokedErrors.has(error.error)) return undefined
        throw error
      }
    }, [])
  }

  /**
   * Sends a code that does not exist to the token endpoint. A provider that knows the client rejects the code.
   *
   * @returns the problem, or undefined
   */
  async findProblem(redirectUri: string): Promise<string | undefined> {
    const library = await import('openid-client')
    try {
      await this.#use(
        (configuration) =>
          library.genericGrantRequest(configuration, 'authorization_code', {
            code: 'basalt-connection-test',
            redirect_uri: redirectUri,
            code_verifier: library.randomPKCECodeVerifier(),
          }),
        [],
      )
      return 'the token endpoint accepted a code that does not exist'
    } catch (error) {
      const { cause } = error as { cause?: unknown }
      const name = cause instanceof library.ResponseBodyError ? cause.error : undefined
      if (name === 'invalid_grant' || name === 'bad_verification_code') return undefined
      return messageOf(error)
    }
  }

  get #isOidc(): boolean {
    return this.settings.extra.issuer_url !== undefined
  }

  get #verifiesIdToken(): boolean {
    return this.#isOidc || this.provider.endpoints(this.settings).jwks !== undefined
  }

  get #knowsIssuer(): boolean {
    return this.#isOidc || this.provider.endpoints(this.settings).issuer !== undefined
  }

  /**
   * Runs the work and converts its error into a {@link ProviderFailure}, after which the provider is discovered
   * again.
   */
  async #use<Result>(
    work: (configuration: Configuration) => Promise<Result>,
    responses?: Json[],
  ): Promise<Result> {
    try {
      const configuration = await this.#configure()
      const library = await import('openid-client')
      configuration[library.customFetch] = this.#createFetch(configuration, responses)
      return await work(configuration)
    } catch (error) {
      this.#discovered = undefined
      if (error instanceof ProviderFailure) throw error
      throw new ProviderFailure(describe(error), { cause: error })
    }
  }

  /** Creates a configuration for each use, without cached keys, so that rotated keys apply at once. */
  async #configure(): Promise<Configuration> {
    const { provider, settings } = this
    const library = await import('openid-client')
    const { clientId } = settings
    const secret = provider.createClientSecret?.(settings, this.#deps.clock.now()) ?? settings.clientSecret
    // The library rejects an empty secret. A public client has none.
    const isPublic = secret === ''
    const basic = isPublic ? library.None() : library.ClientSecretBasic(secret)
    const post = isPublic ? library.None() : library.ClientSecretPost(secret)
    const now = this.#deps.clock.now().getTime()
    const client = { [library.clockSkew]: Math.round((now - Date.now()) / 1000) }
    if (!this.#isOidc) {
      const { issuer, authorize, token, jwks } = provider.endpoints(settings)
      const configuration = new library.Configuration(
        {
          issuer: issuer ?? new URL(authorize).origin,
          authorization_endpoint: authorize,
          token_endpoint: token,
          ...(jwks === undefined ? {} : { jwks_uri: jwks }),
        },
        clientId,
        client,
        provider.authentication === 'basic' ? basic : post,
      )
      if (jwks !== undefined) library.enableNonRepudiationChecks(configuration)
      if (token.startsWith('http:')) library.allowInsecureRequests(configuration)
      return configuration
    }
    if (this.#discovered === undefined || this.#discovered.until <= now) {
      this.#discovered = { metadata: this.#discover(), until: now + discoveryMs }
    }
    const authentication = isPublic ? library.None() : choose
    const configuration = new library.Configuration(
      await this.#discovered.metadata,
      clientId,
      client,
      authentication,
    )
    if (isInsecure(settings)) library.allowInsecureRequests(configuration)
    library.enableNonRepudiationChecks(configuration)
    return configuration

    /** Chooses the authentication. Without a list it is `client_secret_basic` (OpenID Connect Discovery §3). */
    function choose(...[server, ...rest]: Parameters<typeof basic>): void {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const takesBasic = methods.includes('client_secret_basic')
      const authenticate = takesBasic ? basic : post
      authenticate(server, ...rest)
    }
  }

  async #discover(): Promise<ServerMetadata> {
    const { settings } = this
    const library = await import('openid-client')
    const issuer = new URL(settings.extra.issuer_url ?? '')
    const configuration = await library.discovery(issuer, settings.clientId, {}, library.None(), {
      [library.customFetch]: this.#createFetch(undefined, undefined),
      ...(isInsecure(settings) ? { execute: [library.allowInsecureRequests] } : {}),
    })
    // The copy keeps only the values, because the library adds functions.
    return JSON.parse(JSON.stringify(configuration.serverMetadata()))
  }

  #createApi(
    configuration: Configuration,
    accessToken: string,
    response: Pick<ProviderApi, 'tokenResponse' | 'claims' | 'form'>,
  ): ProviderApi {
    const { settings } = this
    const { transport } = this.#deps
    return createProviderApi({ transport, settings, configuration, accessToken, ...response })
  }

  #createFetch(configuration: Configuration | undefined, responses: Json[] | undefined) {
    return createLibraryFetch({
      transport: this.#deps.transport,
      provider: this.provider,
      tokenEndpoint: configuration?.serverMetadata().token_endpoint,
      keepsIdToken: this.#verifiesIdToken,
      responses,
    })
  }

  #tokensOf(response: {
    readonly access_token: string
    readonly refresh_token?: string
    readonly expires_in?: number
  }): ProviderTokens {
    const { refresh_token: refreshToken, expires_in: expiresInSeconds } = response
    return {
      accessToken: response.access_token,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    }
  }
}

/** Returns whether http is allowed. The configuration allows it only for providers on the same machine. */
function isInsecure({ extra }: ClientSettings): boolean {
  return extra.issuer_url?.startsWith('http:') === true
}

/** Describes the library's error, without the data that was sent. */
function describe(error: unknown): string {
  const { cause, error: name, error_description: description } = error as Readonly<Record<string, unknown>>
  if (cause instanceof ProviderFailure) return cause.message
  if (codeOf(error) === 'OAUTH_RESPONSE_IS_NOT_JSON') {
    return 'a response is not JSON: is this the address of a provider, and is it configured as described?'
  }
  const parts = [messageOf(error), codeOf(error), name, description]
  return parts.filter((part) => typeof part === 'string').join('; ')
}
