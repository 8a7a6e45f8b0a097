import type { AppError } from '../../../lib/errors.ts'
import { isObject } from '../../../lib/json.ts'
import { readRetryAfter } from '../../../lib/retry-after.ts'
import { embeddingErrors } from './errors.ts'
import type { EmbeddingModel } from './model.ts'

/** Outcome of one request to a provider. */
export type ExchangeOutcome =
  | { readonly kind: 'embedded'; readonly vectors: readonly (readonly number[])[] }
  | {
      readonly kind: 'failed'
      readonly error: AppError
      /** True if the same request may succeed later. */
      readonly isTransient: boolean
      /** True if the provider is at fault, so that other requests would fail, too. */
      readonly isOutage: boolean
      /** Pause that the provider requested, in seconds. */
      readonly retryAfter?: number | undefined
    }

/** Sends a request and returns the vectors of the texts, in order. Only the status of an error response is read. */
export async function exchange(
  model: EmbeddingModel,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<ExchangeOutcome> {
  let response: Response
  let answer: unknown
  try {
    response = await fetch(`${model.baseUrl}/embeddings`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(model.apiKey === '' ? {} : { authorization: `Bearer ${model.apiKey}` }),
      },
      body: JSON.stringify({
        model: model.name,
        input: texts,
        ...(model.dimensions === undefined ? {} : { dimensions: model.dimensions }),
      }),
      redirect: 'error',
      signal,
    })
    if (response.ok) answer = await response.json()
    else await response.body?.cancel()
  } catch (cause) {
    if (cause instanceof SyntaxError) return malformed()
    return failed(embeddingErrors.embeddingProviderError('the connection failed').with({ cause }), 'outage')
  }
  return response.ok ? readVectors(answer, texts.length) : readRefusal(response)
}

function readRefusal({ status, headers }: Response): ExchangeOutcome {
  if (status === 401 || status === 403) return failed(embeddingErrors.embeddingAuthenticationFailed())
  if (status === 429) {
    const retryAfter = readRetryAfter(headers.get('retry-after'), new Date())
    const error = embeddingErrors.embeddingRateLimited()
    return {
      ...failed(retryAfter === undefined ? error : error.retryAfter(retryAfter), 'transient'),
      retryAfter,
    }
  }
  // The text of the response may repeat the key, or the client's text.
  if (textRefusals.has(status)) return failed(embeddingErrors.embeddingRefused(status))
  const error = embeddingErrors.embeddingProviderError(`status ${status}`)
  if (status < 500 && status !== 408) return failed(error)
  return { ...failed(error, 'outage'), retryAfter: readRetryAfter(headers.get('retry-after'), new Date()) }
}

/** Statuses of providers for a text that is too long or empty. */
const textRefusals: ReadonlySet<number> = new Set([400, 413, 422])

/** Reads `{"data": [{"index": 0, "embedding": […]}, …]}`. */
function readVectors(answer: unknown, count: number): ExchangeOutcome {
  if (!isObject(answer) || !Array.isArray(answer.data)) return malformed()
  const vectors: (readonly number[] | undefined)[] = Array.from({ length: count })
  for (const [position, entry] of answer.data.entries()) {
    const { index = position, embedding } = isObject(entry) ? entry : {}
    if (typeof index === 'number' && index < count && isVector(embedding)) vectors[index] = embedding
  }
  const found = vectors.filter((vector) => vector !== undefined)
  return found.length === count ? { kind: 'embedded', vectors: found } : failed(embeddingErrors.noEmbedding())
}

function isVector(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => typeof each === 'number' && Number.isFinite(each))
  )
}

function malformed(): ExchangeOutcome & { kind: 'failed' } {
  return failed(embeddingErrors.embeddingProviderError('the answer is not one of an embeddings endpoint'))
}

function failed(error: AppError, kind?: 'transient' | 'outage'): ExchangeOutcome & { kind: 'failed' } {
  return { kind: 'failed', error, isTransient: kind !== undefined, isOutage: kind === 'outage' }
}
