import { type TSchema, Type } from 'typebox'

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
export function responses(
  own: Readonly<Record<number, TSchema | OtherContent>>,
): Record<string, TSchema | OtherContent> {
  return { ...own, default: errorEnvelopeSchema }
}

/** An answer that is not JSON. */
export interface OtherContent {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

/** Answers without a body. */
export const noContent = Type.Null({ description: 'No content.' })

/** The route takes a token. */
export const bearerSecurity: Record<string, string[]>[] = [{ bearer: [] }]
