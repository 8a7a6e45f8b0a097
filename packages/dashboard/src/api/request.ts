import type { RequestOptions } from '@basaltdb/client'
import { client } from './client.ts'

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

// The interface that a call names describes what the server documents for it in its OpenAPI document.

/** @param path below `/api/`: `admin/users`, its variable parts through {@link segment} */
export async function get<T>(path: string, query: Query = {}, options: RequestOptions = {}): Promise<T> {
  const detail = { ...options, query: asTexts(query), isRepeatable: true }
  return (await client.transport.request('GET', path, detail)) as T
}

interface SendOptions extends RequestOptions {
  readonly query?: Query
  /** Where the server keeps the answer by it, the request is sent again when its answer is lost. */
  readonly idempotencyKey?: string
}

/** A write is sent once, unless it has a key: without its answer nothing says whether it was done. */
const sender =
  (method: string) =>
  async <T = void>(path: string, body?: unknown, options: SendOptions = {}): Promise<T> => {
    const { query = {}, idempotencyKey, ...rest } = options
    const detail = { ...rest, query: asTexts(query), body }
    const { transport } = client
    return (await (idempotencyKey === undefined
      ? transport.request(method, path, { ...detail, isRepeatable: false })
      : transport.write(method, path, { ...detail, idempotencyKey }))) as T
  }

export const post = sender('POST')
export const put = sender('PUT')
export const patch = sender('PATCH')
/** DELETE. */
export const remove = sender('DELETE')

/** A variable part of a path. */
export const segment = encodeURIComponent

function asTexts(query: Query): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )
}
