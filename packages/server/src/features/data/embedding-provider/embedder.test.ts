import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
  status,
} from '../../../../test/embedding-provider.ts'
import { waitFor } from '../../../../test/wait-for.ts'
import { loadConfig } from '../../../configuration.ts'
import { AppError } from '../../../lib/errors.ts'
import { createEmbedders, type Embedder } from './embedder.ts'
import { createQueryEmbeddings } from './query-embeddings.ts'

const key = 'sk-very-secret'
let provider: EmbeddingProvider

beforeEach(async () => {
  provider = await startEmbeddingProvider()
})
afterEach(() => provider[Symbol.asyncDispose]())

function create(keys: Record<string, string> = {}): Embedder {
  const providers = { openai: { api_key: key, base_url: provider.url, default_model: 'letters' } }
  const flags = { 'ai.providers': JSON.stringify(providers), 'ai.max_retries': '0', ...keys }
  const found = createEmbedders(loadConfig({ directory: '/', env: {}, flags }).config.ai).find()
  if (found === undefined) throw new Error('no model')
  return found
}

/** Returns the failure as clients would see it. */
async function failure(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (reason) => reason,
  )
  if (!(error instanceof AppError)) throw new Error(`no error of the API: ${error}`)
  expect(JSON.stringify(error.extras)).not.toContain(key)
  return { status: error.status, message: error.message, headers: error.extras.headers }
}

describe('embedder', () => {
  test('returns vectors in the order of the texts', async () => {
    expect(await create().embed(['aab', 'c', ''])).toEqual([
      [2, 1, 0],
      [0, 0, 1],
      [0, 0, 0],
    ])
    expect(provider.requests).toMatchObject([
      {
        path: '/v1/embeddings',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: { model: 'letters', input: ['aab', 'c', ''] },
      },
    ])
    expect(provider.requests[0]?.body).not.toHaveProperty('dimensions')
  })

  test('requests the configured number of dimensions', async () => {
    await create({ 'ai.embedding_dimensions': '{"openai:letters": 3}' }).embed(['a'])
    expect(provider.requests[0]?.body.dimensions).toBe(3)
  })

  test('needs no key', async () => {
    const keys = {
      'ai.providers': JSON.stringify({ openai: { base_url: provider.url, default_model: 'a' } }),
    }
    await create(keys).embed(['a'])
    expect(provider.requests[0]?.headers).not.toHaveProperty('authorization')
  })

  const empty = JSON.stringify({ data: [] })
  const refused = JSON.stringify({ error: { message: `Incorrect API key provided: ${key}` } })
  test.each([
    [401, {}, refused, 502, 'embedding provider authentication failed'],
    [403, {}, refused, 502, 'embedding provider authentication failed'],
    [400, {}, refused, 502, 'embedding provider error: status 400'],
    [404, {}, '', 502, 'embedding provider error: status 404'],
    [500, {}, '', 502, 'embedding provider error: status 500'],
    [302, { location: 'http://127.0.0.1:1/' }, '', 502, 'embedding provider error: the connection failed'],
    [429, { 'retry-after': '7' }, '', 429, 'embedding provider rate limited, retry later', '7'],
    [429, {}, '', 429, 'embedding provider rate limited, retry later'],
    [200, {}, empty, 502, 'embedding provider returned no embedding'],
    [200, {}, '{"data": [{"embedding": []}]}', 502, 'embedding provider returned no embedding'],
    [200, {}, '{"data": [{"embedding": ["a"]}]}', 502, 'embedding provider returned no embedding'],
    [200, {}, '{"data": [null]}', 502, 'embedding provider returned no embedding'],
    [200, {}, '{}', 502, 'embedding provider error: the answer is not one of an embeddings endpoint'],
    [200, {}, '<html>', 502, 'embedding provider error: the answer is not one of an embeddings endpoint'],
  ])('rejects %s %j %s with %s', async (code, headers, body, expected, message, wait?: string) => {
    provider.answer = status(code, headers as Record<string, string>, body)
    expect(await failure(create().embed(['a']))).toEqual({
      status: expected,
      message,
      headers: wait === undefined ? undefined : { 'retry-after': wait },
    })
    expect(provider.requests).toHaveLength(1)
  })

  test('rejects without a provider at the address', async () => {
    const embedder = create()
    await provider[Symbol.asyncDispose]()
    expect(await failure(embedder.embed(['a']))).toMatchObject({
      status: 502,
      message: 'embedding provider error: the connection failed',
    })
    provider = await startEmbeddingProvider()
  })

  test.each([429, 500, 503])('retries after %s', async (code) => {
    provider.answer = (response, request) => {
      const answer = provider.requests.length < 3 ? status(code) : embeddings(countLetters)
      answer(response, request)
    }
    expect(await create({ 'ai.max_retries': '2' }).embed(['a'])).toEqual([[1, 0, 0]])
    expect(provider.requests).toHaveLength(3)
  })

  test.each([400, 401])('does not retry after %s', async (code) => {
    provider.answer = status(code)
    await failure(create({ 'ai.max_retries': '5' }).embed(['a']))
    expect(provider.requests).toHaveLength(1)
  })

  test('does not wait beyond the time limit', async () => {
    provider.answer = status(429, { 'retry-after': '60' })
    const limited = create({ 'ai.max_retries': '5', 'ai.timeout': '2' })
    expect(await failure(limited.embed(['a']))).toMatchObject({
      status: 429,
      headers: { 'retry-after': '60' },
    })
    provider.answer = () => undefined
    expect(await failure(create({ 'ai.timeout': '1' }).embed(['a']))).toMatchObject({
      status: 504,
      message: 'embedding provider timed out',
    })
    await waitFor('the request to end', () => provider.requests.at(-1)?.isCanceled === true)
  })

  test('sends nothing while the breaker is open, and resumes when a probe succeeds', async () => {
    const embedder = create({ 'ai.breaker.failure_threshold': '2', 'ai.breaker.open_seconds': '1' })
    provider.answer = status(500)
    await failure(embedder.embed(['a']))
    await failure(embedder.embed(['a']))
    expect(await failure(embedder.embed(['a']))).toEqual({
      status: 503,
      message: 'embedding provider temporarily unavailable due to circuit breaker',
      headers: { 'retry-after': '1' },
    })
    expect(provider.requests).toHaveLength(2)
    provider.answer = embeddings(countLetters)
    await waitFor('the breaker to close', async () => {
      const [vector] = await embedder.embed(['a']).catch(() => [])
      return vector !== undefined
    })
    expect(provider.requests).toHaveLength(3)
  })

  test.each([400, 401, 429])('does not open the breaker when the provider rejects with %s', async (code) => {
    const embedder = create({ 'ai.breaker.failure_threshold': '1' })
    provider.answer = status(code)
    await failure(embedder.embed(['a']))
    await failure(embedder.embed(['a']))
    expect(provider.requests).toHaveLength(2)
  })
})

describe('query embeddings', () => {
  test('call the provider once for concurrent searches', async () => {
    const embed = createQueryEmbeddings(create())
    const found = await Promise.all(Array.from({ length: 10 }, () => embed('ab')))
    expect(new Set(found.map((vector) => vector.join()))).toEqual(new Set(['1,1,0']))
    expect(await embed('ab')).toEqual([1, 1, 0])
    expect(provider.texts).toEqual(['ab'])
  })

  test.each([429, 503])('do not wait for a long pause that the provider requests by %s', async (code) => {
    const embed = createQueryEmbeddings(create({ 'ai.max_retries': '2' }))
    provider.answer = status(code, { 'retry-after': '7' })
    await expect(embed('ab')).rejects.toThrow(/^embedding provider/)
    expect(provider.requests).toHaveLength(1)
  })

  test('call the provider again after a failure', async () => {
    const embed = createQueryEmbeddings(create())
    provider.answer = status(500)
    await failure(embed('ab'))
    provider.answer = embeddings(countLetters)
    expect(await embed('ab')).toEqual([1, 1, 0])
  })

  test('are canceled when the last client has disconnected', async () => {
    const embed = createQueryEmbeddings(create())
    provider.answer = () => undefined
    const [first, second] = [new AbortController(), new AbortController()]
    const both = [failure(embed('ab', first.signal)), failure(embed('ab', second.signal))]
    await waitFor('the request', () => provider.requests.length === 1)
    first.abort()
    expect(await both[0]).toEqual({ status: 504, message: 'embedding request canceled', headers: undefined })
    expect(provider.requests[0]?.isCanceled).toBe(false)
    second.abort()
    expect(await both[1]).toMatchObject({ status: 504 })
    await waitFor('the request to end', () => provider.requests[0]?.isCanceled === true)
    provider.answer = embeddings(countLetters)
    expect(await embed('ab')).toEqual([1, 1, 0])
  })
})
