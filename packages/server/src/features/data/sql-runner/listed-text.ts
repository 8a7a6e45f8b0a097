import { Type } from '../../../lib/type.ts'

/** Maximum length of a text in a list. A request by id returns the whole text. */
export const listedLength = 300

/** Members of an object whose texts are cut in lists. */
export const cut = {
  queryLength: Type.Integer({ description: 'Length of the whole query in characters.' }),
  isCut: Type.Boolean({
    description:
      'True if the query, or the error of a run, is longer than here. A request by its id returns all of it.',
  }),
}

export const cursor = Type.Optional(
  Type.String({ format: 'cursor', description: '`nextCursor` of the page before.' }),
)
export const nextCursor = Type.Optional(Type.String({ description: 'Absent on the last page.' }))
