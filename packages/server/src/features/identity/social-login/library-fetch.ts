import { type Json, objectOf, type Provider } from './providers/provider.ts'
import type { Transport } from './transport.ts'

export interface LibraryFetchDeps {
  readonly transport: Transport
  readonly provider: Provider
  readonly tokenEndpoint: string | undefined
  readonly keepsIdToken: boolean
  /** Gets what the token endpoint answered. */
  readonly answers: Json[] | undefined
}

/**
 * Creates the `fetch` of `openid-client`. Responses of token endpoints are brought into the form of RFC 6749 §5.1 where
 * providers differ from it.
 */
export function createLibraryFetch({
  transport,
  provider,
  tokenEndpoint,
  keepsIdToken,
  answers,
}: LibraryFetchDeps) {
  return async (
    url: string,
    options: { method?: string | undefined; headers: Record<string, string>; body?: unknown },
  ): Promise<Response> => {
    const isToken = url === tokenEndpoint && answers !== undefined
    const isJson = isToken && provider.tokenRequestFormat === 'json'
    const body = options.body === undefined || options.body === null ? undefined : String(options.body)
    const response = await transport(url, {
      method: options.method,
      headers: { ...options.headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
      body: isJson ? JSON.stringify(Object.fromEntries(new URLSearchParams(body))) : body,
    })
    if (!isToken || response.status !== 200) return response
    const answer = await readJson(response.clone())
    if (answer === undefined) return response
    // GitHub reports errors with status 200.
    if (typeof answer.error === 'string') return Response.json(answer, { status: 400 })
    answers.push(answer)
    return Response.json(toStandard(answer, keepsIdToken))
  }
}

export async function readJson(response: Response): Promise<Json | undefined> {
  try {
    return objectOf(await response.json())
  } catch {
    return undefined
  }
}

function toStandard(answer: Json, keepsIdToken: boolean): Json {
  const {
    token_type: type,
    scope,
    expires_in: seconds,
    refresh_token: refresh,
    id_token: id,
    ...rest
  } = answer
  return {
    ...rest,
    // LinkedIn and Figma leave it out.
    token_type: typeof type === 'string' && type !== '' ? type : 'bearer',
    // Twitch sends a list.
    ...(typeof scope === 'string' ? { scope } : Array.isArray(scope) ? { scope: scope.join(' ') } : {}),
    ...(Number.isFinite(Number(seconds ?? Number.NaN)) ? { expires_in: Number(seconds) } : {}),
    ...(typeof refresh === 'string' && refresh !== '' ? { refresh_token: refresh } : {}),
    ...(keepsIdToken && id !== undefined ? { id_token: id } : {}),
  }
}
