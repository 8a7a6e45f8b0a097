import type { AppError } from '../lib/errors.ts'
import { type Static, type TNull, type TObject, type TSchema, type TUnsafe, Type } from '../lib/type.ts'
import { uuidPattern } from '../lib/uuid.ts'

/** Facts about a schema for the API document and the validation messages. Validation ignores this keyword. */
export interface Documented {
  /** Name among the components of the document. */
  readonly component?: string
  /** Description of one use of a component. */
  readonly note?: string
  readonly isRequired?: boolean
  /** True for a request member that is accepted under an undocumented name. */
  readonly isUndocumented?: boolean
  readonly keywords?: Readonly<Record<string, unknown>>
  readonly refusal?: Refusal
}

/** Errors of a request by the fault of a member. A value of the wrong type gets the general error. */
export interface Refusal {
  /** Error for a missing member, or an empty text where `minLength` is 1. */
  readonly missing?: () => AppError
  /** Error for a value that breaks another rule of the schema. The message may contain the value. */
  readonly invalid?: (value: unknown) => AppError
}

/**
 * Names a schema. The API document contains it once, among the components, and every use refers to it.
 * Generated clients call the type by this name.
 */
export function component<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return document(schema, { component: name })
}

/** Describes one use of a schema that several members share. */
export function described<Schema extends TSchema>(note: string, schema: Schema): Schema {
  const { documented } = schema as { documented?: Documented }
  if (documented?.component !== undefined) return document(schema, { note })
  const marked = { ...schema, description: note }
  return Type.IsOptional(schema) ? (Type.Optional(marked) as unknown as Schema) : marked
}

/**
 * Declares an object with the members of a named one and others. In the API document it refers to the named
 * one.
 */
export function extended<Base extends TSchema, Members extends TObject>(base: Base, members: Members) {
  return Type.Unsafe<Static<Base> & Static<Members>>({ ...members, allOf: [base] })
}

/** Gives a request member errors of its own, in place of the general one for invalid requests. */
export function refusedWith<Schema extends TSchema>(refusal: Refusal, schema: Schema): Schema {
  return document(schema, { refusal })
}

/** Parameter or member with the reason of an administrator who views data as a user. */
export const viewReason = Type.Optional(
  Type.String({
    description: 'Reason to view data as a user, which the audit log stores. The role `support` needs one.',
  }),
)

/** Names the list of a named item; the list of any other item has no name. */
function componentOf<Schema extends TSchema>(item: TSchema, suffix: string, list: Schema): Schema {
  const { documented } = item as { documented?: Documented }
  return documented?.component === undefined ? list : component(`${documented.component}${suffix}`, list)
}

/** Returns the schema with further documentation for the API document. */
function document<Schema extends TSchema>(schema: Schema, documented: Documented): Schema {
  const { documented: existing } = schema as { documented?: Documented }
  const keywords = { ...documented.keywords, ...existing?.keywords }
  const marked = { ...schema, documented: { ...existing, ...documented, keywords } }
  return Type.IsOptional(schema) ? (Type.Optional(marked) as unknown as Schema) : marked
}

/** Schema of the error envelope. */
export const errorEnvelopeSchema = component(
  'Error',
  Type.Object(
    {
      code: Type.Integer({ description: 'Equals the HTTP status.' }),
      message: Type.String(),
      error: Type.String({ description: 'Stable slug; see the error reference.' }),
      data: Type.Optional(Type.Object({}, { additionalProperties: true })),
      doc_url: Type.Optional(Type.String()),
    },
    { description: 'An error.' },
  ),
)

/** Returns the responses of a route: its own by status, and the error envelope for all others. */
export function responses<Own extends Readonly<Record<number, TSchema | OtherContent>>>(own: Own) {
  // The compiler checks what handlers send against these types; nothing does at run time.
  return { ...own, default: errorEnvelopeSchema } as unknown as {
    readonly [Status in keyof Own]: Own[Status] extends OtherContent | TNull
      ? TSchema
      : TUnsafe<Answered<Extract<Own[Status], TSchema>>>
  }
}

/**
 * Value that a handler may send for a schema. It is read-only, and undefined stands for members that JSON
 * omits.
 */
export type Answered<Schema extends TSchema> = Sent<Static<Schema>>

type Sent<Value> = Value extends Timestamp
  ? string | Date
  : Value extends readonly (infer Each)[]
    ? readonly Sent<Each>[]
    : Value extends object
      ? {
          readonly [Name in keyof Value]: object extends Pick<Value, Name>
            ? Sent<Value[Name]> | undefined
            : Sent<Value[Name]>
        }
      : Value

/** Point in time as RFC 3339 text in UTC. Handlers may send a `Date`, which JSON serializes in this form. */
export type Timestamp = string & { readonly [timestampMark]: true }
declare const timestampMark: unique symbol

/** Schema of a point in time. */
export const timestamp = Type.Unsafe<Timestamp>(Type.String({ format: 'date-time' }))

/** Declares a value or null. */
export function nullable<Schema extends TSchema>(
  schema: Schema,
  options: Readonly<Record<string, unknown>> = {},
) {
  return Type.Union([schema, Type.Null()], options)
}

/** Declares a choice of texts. */
export function choice<const Values extends readonly string[]>(
  values: Values,
  options: Readonly<Record<string, unknown>> = {},
) {
  return Type.Unsafe<Values[number]>(Type.String({ enum: values, ...options }))
}

/**
 * Declares a choice of texts in a query. It also accepts an empty text, which filters nothing and is not
 * documented.
 */
export function choiceOrEmpty<const Values extends readonly string[]>(values: Values) {
  return document(choice([...values, ''] as [...Values, '']), { keywords: { enum: values } })
}

/** Pattern of texts that are not blank and that PostgreSQL can store. */
export const textForm = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$'

/** Pattern of such texts in one line. */
export const lineForm =
  '^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$'

/**
 * Adds rules to the API document that the handler checks. Its messages or the order of its checks require that.
 */
export function checkedByHandler<Schema extends TSchema>(
  keywords: Readonly<Record<string, unknown>>,
  schema: Schema,
): Schema {
  return document(schema, { keywords })
}

/**
 * Returns the keywords that require exactly one of two rules. Client generators read a `oneOf` as a union of
 * types and omit the members of the object.
 */
export function exactlyOne(one: object, other: object) {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { if: one, then: { not: other }, else: other }
}

/** Returns the keywords that require at least one of two rules; see {@link exactlyOne}. */
export function atLeastOne(one: object, other: object) {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { if: { not: one }, then: other }
}

/** Declares a required text whose length and form the handler checks. */
export function checkedText(maxLength: number, pattern = textForm) {
  return checkedByHandler({ maxLength, pattern }, Type.String({ minLength: 1 }))
}

/** Schema of a UUID in a request. */
export const uuid = document(Type.String({ pattern: uuidPattern }), {
  // The document contains the format alone.
  keywords: { format: 'uuid', pattern: undefined },
})

/** Confirmation in words. */
export const Message = component('Message', Type.Object({ message: Type.String() }))

/** Declares a list of all items, with their number. */
export function listOf<Item extends TSchema>(item: Item) {
  return componentOf(item, 'List', Type.Object({ items: Type.Array(item), count: Type.Integer() }))
}

/** Response that is not JSON. */
export interface OtherContent {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

/** Response without a body. */
export const noContent = Type.Null({ description: 'No content.' })

/** Security of a route that requires a token. */
export const bearerSecurity: Record<string, string[]>[] = [{ bearer: [] }]

/** Security of a route that also accepts requests without a token. */
export const optionalSecurity: Record<string, string[]>[] = [{}, ...bearerSecurity]

/**
 * Declares a member whose absence its handler rejects with an error of its own. It is optional to the
 * validation and required in the API document.
 */
export function requiredByHandler<Schema extends TSchema>(schema: Schema) {
  const { type, documented: known } = schema as { type?: unknown; documented?: Documented }
  const { enum: values, format } = known?.keywords ?? {}
  const isFreeText = type === 'string' && values === undefined && format === undefined
  const documented: Documented = { isRequired: true, ...(isFreeText ? { keywords: { minLength: 1 } } : {}) }
  return Type.Optional(document(schema, documented))
}

/**
 * Declares a UUID that the handler validates, because its error says what the UUID identifies. The validation
 * accepts any text.
 */
export function uuidByHandler(options: Readonly<Record<string, unknown>> = {}) {
  const documented: Documented = { keywords: { format: 'uuid' } }
  return Type.String({ ...options, documented })
}

/** Declares a request member under an older name. It is accepted, and not in the API document. */
export function olderName<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(document(schema, { isUndocumented: true }))
}

/** Content of a file. */
export const binary = Type.String({ format: 'binary' })

/** Request body that a route itself reads, for the API document: content by its type. */
export interface DocumentedBody {
  readonly required: boolean
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

/** Declares the body of an HTML form (`application/x-www-form-urlencoded`). */
export function formBody(schema: TSchema): DocumentedBody {
  return bodyOf('application/x-www-form-urlencoded', schema)
}

/** Declares a multipart body (RFC 7578). */
export function multipartBody(schema: TSchema): DocumentedBody {
  return bodyOf('multipart/form-data', schema)
}

/** Declares a body of one content type. */
export function bodyOf(type: string, schema: TSchema, required = true): DocumentedBody {
  return { required, content: { [type]: { schema } } }
}

/** One of several operations that share a wildcard route. The last segment of the path selects it. */
export interface DocumentedVariant {
  readonly operationId: string
  /** Last segment of the path. */
  readonly segment: string
  readonly summary: string
  readonly description?: string
  readonly body?: TSchema
  readonly responses: Readonly<Record<number, TSchema>>
}

/** Page of an administrative list. Values out of bounds are clamped. */
export const pageQuery = Type.Object({
  page: Type.Optional(Type.Integer({ description: 'From 1.' })),
  perPage: Type.Optional(Type.Integer({ description: 'At most 100; 20 by default.' })),
})

/** Member of a page beside its totals. */
export const isTotalEstimated = Type.Optional(
  Type.Boolean({ description: 'True: `totalItems` and `totalPages` are estimates, beyond 100,000.' }),
)

export function pageOf<Item extends TSchema>(item: Item) {
  return componentOf(
    item,
    'Page',
    Type.Object({
      items: Type.Array(item),
      page: Type.Integer(),
      perPage: Type.Integer(),
      totalItems: Type.Integer(),
      totalPages: Type.Integer(),
    }),
  )
}

/** Declares a part of a list by `limit` and `offset`, which the response repeats. */
export function offsetPageOf<Item extends TSchema>(item: Item) {
  return componentOf(
    item,
    'Slice',
    Type.Object({
      items: Type.Array(item),
      count: Type.Integer({ description: 'Items in this response.' }),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  )
}

export interface PageRequest {
  readonly page?: number | undefined
  readonly perPage?: number | undefined
}

/** Clamps the page to its bounds and computes the offset. */
export function readPage(
  { page = 1, perPage }: PageRequest,
  { size: fallback, most } = { size: 20, most: 100 },
) {
  const size = Math.min(Math.max(perPage ?? fallback, 1), most)
  const number = Math.min(Math.max(page, 1), 1_000_000)
  return { page: number, perPage: size, offset: (number - 1) * size }
}
