import { type TSchema, Type } from 'typebox'

/** Shapes that many routes share. */

/** The error envelope (interface, Errors). */
export const errorEnvelopeSchema = Type.Object({
  code: Type.Integer({ description: 'Equals the HTTP status.' }),
  message: Type.String(),
  error: Type.String({ description: 'Stable slug; see the error reference.' }),
  data: Type.Optional(Type.Object({}, { additionalProperties: true })),
  doc_url: Type.Optional(Type.String()),
})

/** Responses of a route: its own by status, and the envelope for everything else. */
export function responses(own: Readonly<Record<number, TSchema>>): Record<string, TSchema> {
  return { ...own, default: errorEnvelopeSchema }
}

/** Answers without a body. */
export const noContent = Type.Null({ description: 'No content.' })

/** The route takes a token. */
export const bearerSecurity: Record<string, string[]>[] = [{ bearer: [] }]
