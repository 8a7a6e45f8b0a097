import { type Static, type TNull, type TSchema, type TUnsafe, Type } from '../lib/type.ts'

/** Shapes that many routes share. */

/** The error envelope. */
export const errorEnvelopeSchema = Type.Object(
  {
    code: Type.Integer({ description: 'Equals the HTTP status.' }),
    message: Type.String(),
    error: Type.String({ description: 'Stable slug; see the error reference.' }),
    data: Type.Optional(Type.Object({}, { additionalProperties: true })),
    doc_url: Type.Optional(Type.String()),
  },
  { description: 'An error.' },
)

/** Responses of a route: its own by status, and the envelope for everything else. */
export function responses<Own extends Readonly<Record<number, TSchema | OtherContent>>>(own: Own) {
  // What handlers send is checked against these types; at run time nothing is.
  return { ...own, default: errorEnvelopeSchema } as unknown as {
    readonly [Status in keyof Own]: Own[Status] extends OtherContent | TNull
      ? TSchema
      : TUnsafe<Answered<Extract<Own[Status], TSchema>>>
  }
}

/** What a handler may send for a schema: read-only, and undefined for what JSON leaves out. */
export type Answered<Schema extends TSchema> = Sent<Static<Schema>>

type Sent<Value> = Value extends readonly (infer Each)[]
  ? readonly Sent<Each>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value]: object extends Pick<Value, Name>
          ? Sent<Value[Name]> | undefined
          : Sent<Value[Name]>
      }
    : Value

/** An answer that is not JSON. */
export interface OtherContent {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

/** Answers without a body. */
export const noContent = Type.Null({ description: 'No content.' })

/** The route takes a token. */
export const bearerSecurity: Record<string, string[]>[] = [{ bearer: [] }]

/** What the API document says of a member beyond its schema: a keyword that checks pass over. */
export interface Documented {
  readonly isRequired?: boolean
  readonly keywords?: Readonly<Record<string, unknown>>
}

/** A member whose lack its handler answers with an error of its own: optional to the check, required in the API document. */
export function requiredByHandler<Schema extends TSchema>(schema: Schema) {
  const isText = (schema as { type?: unknown }).type === 'string'
  const documented: Documented = { isRequired: true, ...(isText ? { keywords: { minLength: 1 } } : {}) }
  return Type.Optional({ ...schema, documented })
}

/** A UUID of which its handler says what it identifies: any text to the check. */
export function uuidByHandler(options: Readonly<Record<string, unknown>> = {}) {
  const documented: Documented = { keywords: { format: 'uuid' } }
  return Type.String({ ...options, documented })
}

/** Pages of administrative lists. What is out of bounds is brought within them. */
export const pageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ description: 'From 1.' })),
  perPage: Type.Optional(Type.Integer({ description: 'At most 100; 20 unless given.' })),
})

export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    items: Type.Array(item),
    page: Type.Integer(),
    perPage: Type.Integer(),
    totalItems: Type.Integer(),
    totalPages: Type.Integer(),
  })
}

/** Part of a list by `limit` and `offset`, which are answered as they were read. */
export function offsetPageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    items: Type.Array(item),
    count: Type.Integer({ description: 'Items in this answer.' }),
    limit: Type.Integer(),
    offset: Type.Integer(),
  })
}

export interface PageRequest {
  readonly page?: number | undefined
  readonly perPage?: number | undefined
}

/** Within bounds, and as rows to pass over. */
export function readPage(
  { page = 1, perPage }: PageRequest,
  { size: fallback, most } = { size: 20, most: 100 },
) {
  const size = Math.min(Math.max(perPage ?? fallback, 1), most)
  const number = Math.min(Math.max(page, 1), 1_000_000)
  return { page: number, perPage: size, offset: (number - 1) * size }
}
