import { defineErrors } from '../../../lib/errors.ts'

export const embeddingErrorTable = {
  noEmbedding: {
    status: 502,
    message: 'embedding provider returned no embedding',
    help: 'The provider of `ai.providers` responded without the requested embedding.',
  },
  embeddingAuthenticationFailed: {
    status: 502,
    message: 'embedding provider authentication failed',
    help: 'The provider rejected the key of `ai.providers`. The operator has to fix it.',
  },
  embeddingProviderError: {
    status: 502,
    message: (reason: string) => `embedding provider error: ${reason}`,
    help: 'The provider of `ai.providers` failed, rejected the text, or does not support `POST /embeddings`.',
  },
  embeddingRefused: {
    status: 502,
    message: (status: number) => `embedding provider error: status ${status}`,
    help: 'The provider rejected the text, the model or the dimensions. A text may be too long for the model.',
  },
  embeddingRateLimited: {
    status: 429,
    message: 'embedding provider rate limited, retry later',
    help: "The provider limits the server's requests. `Retry-After` is the provider's.",
  },
  embeddingLimitReached: {
    status: 429,
    message: 'too many searches by meaning',
    help: 'A user, with all credentials together, or an address without a token has used `ai.queries_per_hour`. Wait for the number of seconds in the `Retry-After` header. Cached texts still work.',
  },
  embeddingBreakerOpen: {
    status: 503,
    message: 'embedding provider temporarily unavailable due to circuit breaker',
    help: 'The provider failed several times in a row and gets no requests for a while: `ai.breaker`.',
  },
  embeddingTimeout: {
    status: 504,
    message: 'embedding provider timed out',
    help: 'The provider did not respond within `ai.timeout`.',
  },
  embeddingCanceled: {
    status: 504,
    message: 'embedding request canceled',
    help: 'The client disconnected, or the server stopped, before the provider responded.',
  },
} as const

export const embeddingErrors = defineErrors(embeddingErrorTable)
