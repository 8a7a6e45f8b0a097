import type { FastifyRequest } from 'fastify'
import { requireFewLevels } from '../../../http/requests/body.ts'
import { isObject, parseJson } from '../../../lib/json.ts'
import { bodyOf, queryOf } from '../collections/index.ts'
import { graphqlErrors } from './errors.ts'
import { readNumber } from './raw-number.ts'

/** GraphQL request as sent (GraphQL over HTTP, Request Parameters). */
export interface GraphqlRequest {
  /** Undefined where a persisted document is named instead. */
  readonly query: string | undefined
  readonly operationName: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
  /** SHA-256 of a persisted document, in hexadecimal. */
  readonly hash: string | undefined
  readonly stream: StreamExtensions
}

/** Members of `extensions` for subscriptions. */
export interface StreamExtensions {
  /** Id of the last event that the client has; undefined to start from now on. */
  readonly lastEventId: string | undefined
  /** True if the client wants to know when the subscription is in force. */
  readonly isReadySent: boolean
}

/** @throws AppError invalid_graphql_request */
export function readPost(http: FastifyRequest): GraphqlRequest {
  const body = parseExactly(bodyOf(http))
  if (!isObject(body)) throw graphqlErrors.invalidGraphqlRequest('invalid JSON body')
  return readMembers(body)
}

/** Reads the payload of a message. @throws AppError invalid_graphql_request */
export function readPayload(text: string): GraphqlRequest {
  const payload = parseExactly(text)
  if (!isObject(payload)) throw graphqlErrors.invalidGraphqlRequest('payload: expected an object')
  return readMembers(payload)
}

/** Reads the parameters of a query by GET. @throws AppError invalid_graphql_request */
export function readGet(http: FastifyRequest): GraphqlRequest {
  const parameters = new URLSearchParams(queryOf(http))
  const json = (name: string): unknown => {
    const text = parameters.get(name)
    if (text === null || text === '') return undefined
    const value = parseExactly(text)
    if (!isObject(value)) throw graphqlErrors.invalidGraphqlRequest(`${name}: expected a JSON object`)
    return value
  }
  return readMembers({
    query: parameters.get('query'),
    operationName: parameters.get('operationName'),
    documentId: parameters.get('documentId'),
    variables: json('variables'),
    extensions: json('extensions'),
  })
}

function readMembers(body: Readonly<Record<string, unknown>>): GraphqlRequest {
  const { query, operationName, variables, documentId } = body
  const extensions = readObject('extensions', body.extensions)
  return {
    query: readText('query', query),
    operationName: readText('operationName', operationName),
    variables: readObject('variables', variables),
    hash: readHash(documentId, extensions),
    stream: {
      lastEventId: readText('extensions.lastEventId', extensions.lastEventId) || undefined,
      isReadySent: extensions.ready === true,
    },
  }
}

function readText(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw graphqlErrors.invalidGraphqlRequest(`${name}: expected a string`)
}

function readObject(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {}
  if (isObject(value)) return value
  throw graphqlErrors.invalidGraphqlRequest(`${name}: expected an object`)
}

/** Pattern of texts with numbers whose digits JavaScript could change. */
const longNumber = /\d{15}|\d[eE.]|-0/

/**
 * Returns the value of a JSON text; its numbers keep their digits. Undefined for text that is not JSON.
 *
 * @throws AppError invalid_json
 */
function parseExactly(text: string): unknown {
  requireFewLevels(text)
  if (!longNumber.test(text)) return parseJson(text)
  try {
    return JSON.parse(text, (_key, value: unknown, context: { readonly source?: string }) =>
      typeof value === 'number' ? readNumber(context.source ?? String(value)) : value,
    )
  } catch {
    return undefined
  }
}

const hashForm = /^[0-9a-f]{64}$/

/**
 * Reads the hash of a persisted document: `documentId` as GraphQL over HTTP has it, `sha256:…`, or the extension of Apollo
 * clients, `persistedQuery.sha256Hash`.
 */
function readHash(
  documentId: unknown,
  { persistedQuery }: Readonly<Record<string, unknown>>,
): string | undefined {
  const id = readText('documentId', documentId)?.replace(/^sha256:/, '')
  const sent = id ?? (isObject(persistedQuery) ? persistedQuery.sha256Hash : undefined)
  if (sent === undefined || sent === null) return undefined
  if (typeof sent === 'string' && hashForm.test(sent)) return sent
  const name = id === undefined ? 'extensions.persistedQuery.sha256Hash' : 'documentId'
  throw graphqlErrors.invalidGraphqlRequest(`${name}: expected a SHA-256 in hexadecimal`)
}
