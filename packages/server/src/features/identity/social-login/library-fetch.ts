import { type Json, objectOf, type Provider } from './providers/provider.ts'
import type { Transport } from './transport.ts'

export interface LibraryFetchDeps {
  readonly transport: Transport
  readonly provider: Provider
  readonly tokenEndpoint: string | undefined
  readonly keepsIdToken: boolean
  /** Responses of the token endpoint, collected here. */
  readonly responses: Json[] | undefined
}

/**
 * Creates the `fetch` of `openid-client`. It converts responses of token endpoints to the form of RFC 6749
 * §5.1 where providers differ from it.
 */
export function createLibraryFetch({
  transport,
  provider,
  tokenEndpoint,
  keepsIdToken,
  responses,
}: LibraryFetchDeps) {
  return async (
    url: string,
    options: { method?: string | undefined; headers: Record<string, string>; body?: unknown },
  ): Promise<Response> => {
    const isToken = url === tokenEndpoint && responses !== undefined
    const isJson = isToken && provider.tokenRequestFormat === 'json'
    const body = options.body === undefined || options.body === null ? undefined : String(options.body)
    const response = await transport(url, {
      method: options.method,
      headers: { ...options.headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
      body: isJson ? JSON.stringify(Object.fromEntries(new URLSearchParams(body))) : body,
    })
    if (!isToken || response.status !== 200) return response
    const content = await readJson(response.clone())
    if (content === undefined) return response
    // GitHub reports errors with status 200.
    if (typeof content.error === 'string') return Response.json(content, { status: 400 })
    responses.push(content)
    return Response.json(toStandard(content, keepsIdToken))
  }
}

export async function readJson(response: Response): Promise<Json | undefined> {
  try {
    return objectOf(await response.json())
  } catch {
    return undefined
  }
}

function toStandard(content: Json, keepsIdToken: boolean): Json {
  const {
    token_type: type,
    scope,
    expires_in: seconds,
    refresh_token: refresh,
    id_token: id,
    ...rest
  } = content
  return {
    ...rest,
    // LinkedIn and Figma omit it.
    token_type: typeof type === 'string' && type !== '' ? type : 'bearer',
    // Twitch sends a list.
    ...(typeof scope === 'string' ? { scope } : Array.isArray(scope) ? { scope: scope.join(' ') } : {}),
    ...(Number.isFinite(Number(seconds ?? Number.NaN)) ? { expires_in: Number(seconds) } : {}),
    ...(typeof refresh === 'string' && refresh !== '' ? { refresh_token: refresh } : {}),
    ...(keepsIdToken && id !== undefined ? { id_token: id } : {}),
  }
}
