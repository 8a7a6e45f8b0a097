import { bearerSecurity, responses } from '../../http/schemas.ts'
import { Type } from '../../lib/type.ts'
import { changeKinds } from './changes/schema.ts'
import { mostDrawn } from './describe/diagram.ts'

const tags = ['structure']
const security = bearerSecurity
const object = Type.Object({}, { additionalProperties: true })
const objects = (description: string) => Type.Array(object, { description })
const nullableText = Type.Union([Type.String(), Type.Null()])

const summary = {
  schema: Type.String(),
  name: Type.String(),
  kind: Type.String({ description: 'table, partitioned table, view, materialized view or foreign table' }),
  comment: nullableText,
  estimatedRows: Type.Union([Type.Number(), Type.Null()], { description: 'As the planner believes.' }),
  bytes: Type.Number({ description: 'With indexes.' }),
  isRlsEnabled: Type.Boolean(),
  isRlsForced: Type.Boolean(),
  policyCount: Type.Integer(),
  options: Type.Array(Type.String(), { description: 'Such as `security_invoker=true`.' }),
  hasPrimaryKey: Type.Boolean(),
  isServed: Type.Boolean({ description: 'Whether its schema is one of `database.schemas`.' }),
  callers: Type.Object(
    { authenticated: Type.Array(Type.String()), anonymous: Type.Array(Type.String()) },
    { description: 'Privileges of callers with and without a token, before policies.' },
  ),
}

/** Tables and views of a page. */
export const relationLimit = { fallback: 200, most: 500 } as const

export const listRelationsSchema = {
  tags,
  security,
  summary: 'List tables and views',
  description: 'By schema and name. Partitions are not listed.',
  querystring: Type.Object({
    schema: Type.Optional(Type.String()),
    q: Type.Optional(Type.String({ description: 'A part of the name.' })),
    afterSchema: Type.Optional(Type.String({ description: '`next.schema` of the page before.' })),
    afterName: Type.Optional(Type.String({ description: '`next.name` of the page before.' })),
    limit: Type.Optional(
      Type.Integer({
        description: `At most ${relationLimit.most}; ${relationLimit.fallback} unless given.`,
      }),
    ),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(Type.Object(summary)),
      next: Type.Union([Type.Object({ schema: Type.String(), name: Type.String() }), Type.Null()]),
    }),
  }),
}

export const getRelationSchema = {
  tags,
  security,
  summary: 'Get one table or view with all that belongs to it',
  params: Type.Object({ schema: Type.String(), name: Type.String() }),
  response: responses({
    200: Type.Object({
      ...summary,
      owner: Type.String(),
      partitionKey: nullableText,
      partitionOf: nullableText,
      tableBytes: Type.Number(),
      indexBytes: Type.Number(),
      columns: objects('name, type, isNullable, default, identity, generated, comment'),
      constraints: objects('name, kind, definition, columns, isValidated, references'),
      indexes: objects(
        'name, definition, method, isUnique, isPrimary, isValid, constraint, condition, bytes, scans',
      ),
      triggers: objects('name, definition, function, isEnabled'),
      policies: objects('name, command, isPermissive, roles, using, check'),
      grants: objects('role, privileges'),
      dependents: objects('kind and name of what would have to be dropped before it'),
      query: nullableText,
      definition: Type.String({ description: 'SQL that makes it as it is, for reading.' }),
    }),
  }),
}

export const getDiagramSchema = {
  tags,
  security,
  summary: 'Tables and the foreign keys between them',
  description: `Of all schemas, of one, or of one table and those beside it. Above ${mostDrawn} tables only their count.`,
  querystring: Type.Object({
    schema: Type.Optional(Type.String()),
    aroundSchema: Type.Optional(Type.String({ description: 'public unless given.' })),
    aroundName: Type.Optional(
      Type.String({ description: 'A table: it, what it refers to, and what refers to it.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      count: Type.Integer({ description: 'Of tables.' }),
      tables: objects('schema, name, columns (name, type, isKey)'),
      references: objects('name, from and to (schema, name, columns)'),
    }),
  }),
}

export const getObjectsSchema = {
  tags,
  security,
  summary: 'List types, functions, sequences and extensions',
  description: 'At most 1,000 of each kind.',
  response: responses({
    200: Type.Object({
      schemas: objects('name, isServed'),
      enums: objects('schema, name, comment, values, usedBy'),
      domains: objects('schema, name, type, isNotNull, default, checks'),
      compositeTypes: objects('schema, name, attributes'),
      functions: objects('schema, name, arguments, returns, language, kind, isSecurityDefiner, definition'),
      sequences: objects('schema, name, type, lastValue, maxValue, increment, ownedBy'),
      extensions: objects('name, version, schema'),
      columnTypes: Type.Array(Type.String(), { description: 'Types that a column can have.' }),
      roles: Type.Array(Type.String()),
    }),
  }),
}

export const planSchema = {
  tags,
  security,
  summary: 'Plan a change of the structure',
  description:
    'Answers its SQL and what it does, as seen in a transaction that is undone. It is not run when its locks would be held ' +
    'for long: where it reads or writes all rows of a large table, or runs without a transaction. Nothing is changed.',
  body: Type.Object({
    change: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: `\`kind\`, \`schema\`, \`name\` and the members of the kind: ${changeKinds.join(', ')}.`,
        },
      ),
    ),
    sql: Type.Optional(Type.String({ description: 'A script, instead of a change.', maxLength: 1_000_000 })),
  }),
  response: responses({
    200: Type.Object({
      sql: Type.String(),
      version: Type.String({ description: 'Of the structure now; `apply` takes it.' }),
      isRehearsed: Type.Boolean(),
      warnings: Type.Array(Type.Object({ kind: Type.String(), message: Type.String() }), {
        description: 'The gravest first.',
      }),
      locks: Type.Optional(objects('relation, mode, blocks, heldMs, line')),
      rewritten: Type.Optional(objects('relation, bytes')),
      changes: Type.Optional(objects('kind, name, change, before, after')),
      access: Type.Optional(objects('role, object, gained, lost, rowsBefore, rowsAfter')),
    }),
  }),
}

export const applySchema = {
  tags,
  security,
  summary: 'Apply a change of the structure as a migration',
  description:
    'The script becomes a file of `project.migrations`, where there is such a folder, and is applied as `basalt migrate up` ' +
    'would; without a folder the database keeps its text, which `basalt migrate pull` writes to a project later. What fails ' +
    'half-way is nothing.',
  body: Type.Object({
    sql: Type.String({ maxLength: 1_000_000 }),
    name: Type.String({
      description: 'What it does, such as `add todo`; the name of the file is made of it.',
    }),
    version: Type.Optional(
      Type.String({ description: 'Of the plan; 409 when the structure has changed since.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      name: Type.String(),
      path: Type.Union([Type.String(), Type.Null()], { description: 'null where there is no folder.' }),
      content: Type.String(),
    }),
  }),
}

export const listMigrationsSchema = {
  tags,
  security,
  summary: 'List the migrations of the operator',
  response: responses({
    200: Type.Object({
      folder: Type.Union([Type.String(), Type.Null()], {
        description: 'null where there is none to write to.',
      }),
      applied: Type.Array(Type.Object({ name: Type.String(), appliedAt: Type.String() })),
      pending: Type.Array(Type.String()),
      obstacles: Type.Array(Type.String(), { description: 'Why nothing can be applied.' }),
      drift: Type.Integer({ description: 'Objects that were changed other than by migrations.' }),
    }),
  }),
}

export const getMigrationSchema = {
  tags,
  security,
  summary: 'Get the text of a migration',
  params: Type.Object({ name: Type.String() }),
  response: responses({ 200: Type.Object({ name: Type.String(), content: Type.String() }) }),
}
