import { bearerSecurity, component, responses } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const tags = ['tables']
const security = bearerSecurity
const params = Type.Object({ table: Type.String({ description: 'As in `/api/collections`.' }) })
const anyObject = Type.Object({}, { additionalProperties: true })
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const rowsQuery = {
  filter: Type.Optional(Type.String({ description: 'As in a list.' })),
  search: Type.Optional(Type.String({ description: 'As in a list.' })),
  as: Type.Optional(
    Type.String({ description: 'Id of a user: the rows are read through the policies, as this user.' }),
  ),
}

const table = {
  table: Type.String({ description: 'How the API addresses it.' }),
  schema: Type.String(),
  name: Type.String(),
  kind: Type.String({ enum: ['table', 'partitioned_table', 'view', 'materialized_view', 'foreign_table'] }),
  comment: Type.Optional(Type.String()),
  rlsEnabled: Type.Boolean(),
  policies: Type.Integer(),
}

const column = component(
  'GridColumn',
  Type.Object({
    name: Type.String(),
    position: Type.Integer(),
    type: Type.String(),
    jsonType: Type.String(),
    nullable: Type.Boolean(),
    hasDefault: Type.Optional(Type.Boolean()),
    default: Type.Optional(Type.String()),
    identity: Type.Optional(Type.Enum(['always', 'by default'])),
    isGenerated: Type.Optional(Type.Boolean()),
    comment: Type.Optional(Type.String()),
    isPrimaryKey: Type.Boolean(),
    isGeometry: Type.Boolean(),
    isGeography: Type.Boolean(),
    isRaster: Type.Optional(Type.Boolean()),
    geometryType: Type.Optional(Type.String({ description: 'Empty where it takes every kind.' })),
    srid: Type.Optional(Type.Integer()),
    coordDimension: Type.Optional(Type.Integer()),
    isVector: Type.Boolean(),
    vectorDim: Type.Optional(Type.Integer()),
    enumValues: Type.Optional(Type.Array(Type.String())),
  }),
)

export const getTable = {
  tags,
  security,
  summary: 'Describe a table for a grid',
  params,
  response: responses({
    200: Type.Object({
      ...table,
      isWritable: Type.Boolean(),
      primaryKey: Type.Array(Type.String()),
      columns: Type.Array(column, { description: 'As in `/api/schema`.' }),
      relations: Type.Array(
        Type.Object({
          name: Type.String(),
          kind: Type.Enum(['many-to-one', 'one-to-many']),
          table: Type.String(),
          pairs: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
          constraint: Type.String(),
        }),
      ),
      sorted: Type.Array(Type.String(), { description: 'Columns that an index sorts.' }),
      isCaptured: Type.Boolean({
        description: 'Whether streams are sent what plain SQL changes, too (`events.capture`).',
      }),
    }),
  }),
}

export const browseRows = {
  tags,
  security,
  summary: 'Rows with long values cut',
  description:
    'Cells are texts as PostgreSQL prints them, and of a limited length: `sizes` has the bytes of those that are cut, by the index of the column. The answer has about a megabyte at most. Rows are not counted.',
  params,
  querystring: Type.Object({
    ...rowsQuery,
    columns: Type.Optional(Type.String({ description: 'Names, separated by commas; all unless given.' })),
    sort: Type.Optional(Type.String({ description: 'As in a list.' })),
    limit: Type.Optional(Type.Integer({ default: 100, minimum: 1, maximum: 500 })),
    after: Type.Optional(Type.String({ description: '`after` of another page: the rows that follow.' })),
    before: Type.Optional(Type.String({ description: '`before` of another page: the rows in front of it.' })),
    from: Type.Optional(
      Type.String({ description: 'Value of the first column of the sort, at which the page begins.' }),
    ),
    id: Type.Optional(Type.String({ description: 'Primary key of the only row that is wanted.' })),
    maxCost: Type.Optional(
      Type.Integer({ description: 'A statement that the planner expects to cost more is refused with 409.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      columns: Type.Array(Type.String()),
      width: Type.Integer({ description: 'Characters after which cells are cut; they have one more then.' }),
      paging: Type.String({
        enum: ['keyset', 'file', 'offset'],
        description: '`file`: without a primary key, in the order of the file, forwards only.',
      }),
      before: nullable('null where nothing is before.'),
      after: nullable('null at the end.'),
      rows: Type.Array(
        Type.Object({
          key: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'Primary key.' }),
          version: nullable('What a change names; null where rows cannot be changed.'),
          sizes: Type.Optional(Type.Object({}, { additionalProperties: Type.Integer() })),
          cells: Type.Array(Type.Union([Type.String(), Type.Null()])),
        }),
      ),
    }),
  }),
}

export const countRows = {
  tags,
  security,
  summary: 'Count rows up to a bound',
  params,
  querystring: Type.Object({
    ...rowsQuery,
    most: Type.Optional(Type.Integer({ description: 'Counting ends after it; all unless given.' })),
  }),
  response: responses({
    200: Type.Object({
      count: Type.Integer(),
      isBounded: Type.Boolean({ description: 'There are more than were counted.' }),
      estimate: Type.Integer({ description: 'Of the planner.' }),
    }),
  }),
}

export const readCell = {
  tags,
  security,
  summary: 'A value in full, as text',
  params,
  querystring: Type.Object({
    id: Type.String({ description: 'Primary key of the row.' }),
    column: Type.String(),
  }),
  response: responses({ 200: Type.Object({ value: nullable('Bytes as `\\x…`.') }) }),
}

export const applyChanges = {
  tags,
  security,
  summary: 'Write changes of rows, all or none',
  description:
    'As a batch, in one transaction. An update or delete with a `version` is refused with 409 when the row has another one: `operation` says which. Its result has the record as it was, as `before`, and what it or a create without `onConflict` has written has the `version` that it is in now.',
  params,
  body: Type.Object({
    operations: Type.Array(
      Type.Object({
        method: Type.String({ enum: ['create', 'update', 'delete'] }),
        id: Type.Optional(Type.String({ description: 'As in a batch.' })),
        version: Type.Optional(Type.String({ description: 'Of the row as it was read.' })),
        body: Type.Optional(anyObject),
      }),
    ),
  }),
  response: responses({
    200: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Of the operation.' }),
        status: Type.Integer(),
        body: Type.Optional(anyObject),
        before: Type.Optional(anyObject),
        version: Type.Optional(Type.String()),
      }),
    ),
  }),
}
