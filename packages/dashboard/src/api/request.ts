import type { RequestOptions } from '@basaltdb/client'
import { client } from './client.ts'
import type { Operations } from './operations.ts'

/** Names of the operations with a method. */
export type Reads = Named<'GET'>
type Named<Method extends string> = {
  [Name in keyof Operations]: Operations[Name]['method'] extends Method ? Name : never
}[keyof Operations]

/** Response body of an operation. */
export type ApiResponse<Name extends keyof Operations> = Operations[Name]['answer']
/** Request body of an operation. */
export type Body<Name extends keyof Operations> = Operations[Name]['body']
/** Item of a list operation. */
export type Item<Name extends keyof Operations> =
  ApiResponse<Name> extends { readonly items: readonly (infer Each)[] } ? Each : never

/** Path below `/api/`, such as `admin/users`. Variable parts are encoded by {@link segment}. */
export type Path<Name extends keyof Operations> = Operations[Name]['path']
/** Query parameters of an operation. */
export type Query<Name extends keyof Operations> = Readonly<
  Partial<Record<Operations[Name]['query'], string | number | boolean | undefined>>
>

export async function get<Name extends Reads>(
  path: Path<Name>,
  query?: Query<Name>,
  options: RequestOptions = {},
): Promise<ApiResponse<Name>> {
  const detail = { ...options, query: asTexts(query), isRepeatable: true }
  // The response has the documented type.
  return (await client.transport.request('GET', path, detail)) as ApiResponse<Name>
}

interface SendOptions extends RequestOptions {
  /** Idempotency key, for operations that support it. A request with a key is retried if its response is lost. */
  readonly idempotencyKey?: string
}

/**
 * Creates a function that sends a write. A write without an idempotency key is sent once: if its response is lost, its outcome
 * is unknown.
 */
const sender =
  <Method extends string>(method: Method) =>
  async <Name extends Named<Method>>(
    path: Path<Name>,
    body?: Body<Name>,
    { idempotencyKey, ...options }: SendOptions = {},
  ): Promise<ApiResponse<Name>> => {
    const { transport } = client
    // The response has the documented type.
    return (await (idempotencyKey === undefined
      ? transport.request(method, path, { ...options, body, isRepeatable: false })
      : transport.write(method, path, { ...options, body, idempotencyKey }))) as ApiResponse<Name>
  }

export const post = sender('POST')
export const put = sender('PUT')
export const patch = sender('PATCH')

/** Sends a DELETE request. */
export async function remove<Name extends Named<'DELETE'>>(
  path: Path<Name>,
  query?: Query<Name>,
): Promise<void> {
  await client.transport.request('DELETE', path, { query: asTexts(query), isRepeatable: false })
}

/** Encodes a variable part of a path. */
export const segment = encodeURIComponent

function asTexts(query: Readonly<Record<string, unknown>> = {}): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )
}
