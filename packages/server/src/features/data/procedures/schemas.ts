import { bearerSecurity, noContent, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'

/** Shapes for the API document. They describe; what is right depends on the function. */

const params = Type.Object({
  procedure: Type.String({ description: 'A function; outside `public` as `schema.function`.' }),
})

const listQuery = {
  filter: Type.Optional(Type.String({ description: 'Of a set: which rows, as in a list.' })),
  sort: Type.Optional(
    Type.String({ description: 'Of a set: comma-separated columns; `-` sorts descending.' }),
  ),
  fields: Type.Optional(Type.String({ description: 'Of a set: comma-separated columns.' })),
  page: Type.Optional(Type.Integer()),
  perPage: Type.Optional(Type.Integer({ description: '1 to 500, 20 unless given.' })),
  skipTotal: Type.Optional(Type.Boolean()),
}

const result = Type.Unknown({
  description:
    'One value, one row as an object, or an array of rows; with a parameter of a list, a page as a list answers it.',
})

const common = { tags: ['procedures'], security: bearerSecurity, params }

export const routeSchemas = {
  call: {
    ...common,
    summary: 'Call a function',
    headers: Type.Object({
      ...idempotencyHeaders,
      'x-notify-table': Type.Optional(
        Type.String({ description: 'A collection: each returned row is announced as a change of it.' }),
      ),
      'x-notify-action': Type.Optional(Type.String({ description: 'create, update or delete' })),
    }),
    querystring: Type.Object(listQuery),
    body: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'The arguments, by name.' }),
    ),
    response: responses({ 200: result, 204: noContent }),
  },
  read: {
    ...common,
    summary: 'Call a function that is declared stable or immutable, in a read-only transaction',
    querystring: Type.Object(listQuery, {
      additionalProperties: true,
      description: 'The arguments, by name, and the parameters of a list.',
    }),
    response: responses({ 200: result, 204: noContent }),
  },
}
