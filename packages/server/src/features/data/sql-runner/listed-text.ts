import { Type } from '../../../lib/type.ts'

/** Characters of a text in a list; a request by id gets the whole text. */
export const listedLength = 300

/** Members of an object whose texts are cut in lists. */
export const cut = {
  queryLength: Type.Integer({ description: 'Characters of the whole query.' }),
  isCut: Type.Boolean({
    description: 'Whether the query by its id is longer than here; of a run, or its error.',
  }),
}

export const cursor = Type.Optional(
  Type.String({ format: 'cursor', description: '`nextCursor` of the page before.' }),
)
export const nextCursor = Type.Optional(Type.String({ description: 'Absent on the last page.' }))
