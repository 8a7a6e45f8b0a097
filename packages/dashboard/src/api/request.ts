import type { RequestOptions } from '@basaltdb/client'
import { client } from './client.ts'
import type { Operations } from './operations.ts'

/** The names of the operations of a method. */
export type Reads = Named<'GET'>
type Named<Method extends string> = {
  [Name in keyof Operations]: Operations[Name]['method'] extends Method ? Name : never
}[keyof Operations]

/** What an operation answers. */
export type Answer<Name extends keyof Operations> = Operations[Name]['answer']
/** What an operation takes. */
export type Body<Name extends keyof Operations> = Operations[Name]['body']
/** One of those that an operation lists. */
export type Item<Name extends keyof Operations> =
  Answer<Name> extends { readonly items: readonly (infer Each)[] } ? Each : never

/** Below `/api/`: `admin/users`, its variable parts through {@link segment}. */
export type Path<Name extends keyof Operations> = Operations[Name]['path']
/** Parameters, all of which the operation has. */
export type Query<Name extends keyof Operations> = Readonly<
  Partial<Record<Operations[Name]['query'], string | number | boolean | undefined>>
>

export async function get<Name extends Reads>(
  path: Path<Name>,
  query?: Query<Name>,
  options: RequestOptions = {},
): Promise<Answer<Name>> {
  const detail = { ...options, query: asTexts(query), isRepeatable: true }
  // The server answers what it documents.
  return (await client.transport.request('GET', path, detail)) as Answer<Name>
}

interface SendOptions extends RequestOptions {
  /** Where the server keeps the answer by it, the request is sent again when its answer is lost. */
  readonly idempotencyKey?: string
}

/** A write is sent once, unless it has a key: without its answer nothing says whether it was done. */
const sender =
  <Method extends string>(method: Method) =>
  async <Name extends Named<Method>>(
    path: Path<Name>,
    body?: Body<Name>,
    { idempotencyKey, ...options }: SendOptions = {},
  ): Promise<Answer<Name>> => {
    const { transport } = client
    // The server answers what it documents.
    return (await (idempotencyKey === undefined
      ? transport.request(method, path, { ...options, body, isRepeatable: false })
      : transport.write(method, path, { ...options, body, idempotencyKey }))) as Answer<Name>
  }

export const post = sender('POST')
export const put = sender('PUT')
export const patch = sender('PATCH')

/** DELETE. */
export async function remove<Name extends Named<'DELETE'>>(
  path: Path<Name>,
  query?: Query<Name>,
): Promise<void> {
  await client.transport.request('DELETE', path, { query: asTexts(query), isRepeatable: false })
}

/** A variable part of a path. */
export const segment = encodeURIComponent

function asTexts(query: Readonly<Record<string, unknown>> = {}): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )
}
