import { bearerSecurity, component, responses } from '../../http/schemas.ts'
import { type Static, Type } from '../../lib/type.ts'
import { changeKinds } from './changes/schema.ts'
import { mostDrawn } from './describe/diagram.ts'

const tags = ['structure']
const security = bearerSecurity
const texts = Type.Array(Type.String())
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

const column = component(
  'StructureColumn',
  Type.Object({
    name: Type.String(),
    type: Type.String(),
    isNullable: Type.Boolean(),
    default: nullableText,
    identity: Type.Union([Type.Enum(['always', 'by default']), Type.Null()]),
    generated: Type.Union([Type.String(), Type.Null()], { description: 'Its expression.' }),
    comment: nullableText,
  }),
)

const constraint = component(
  'StructureConstraint',
  Type.Object({
    name: Type.String(),
    kind: Type.String(),
    definition: Type.String(),
    columns: texts,
    isValidated: Type.Boolean(),
    references: Type.Union([
      Type.Object({ schema: Type.String(), name: Type.String(), columns: texts }),
      Type.Null(),
    ]),
  }),
)

const index = component(
  'StructureIndex',
  Type.Object({
    name: Type.String(),
    definition: Type.String(),
    method: Type.String(),
    isUnique: Type.Boolean(),
    isPrimary: Type.Boolean(),
    isValid: Type.Boolean({ description: 'false of one that was built concurrently and failed.' }),
    constraint: Type.Union([Type.String(), Type.Null()], { description: 'Which it belongs to.' }),
    condition: nullableText,
    bytes: Type.Number(),
    scans: Type.Number({ description: 'Since the statistics were reset.' }),
  }),
)

const trigger = component(
  'StructureTrigger',
  Type.Object({
    name: Type.String(),
    definition: Type.String(),
    function: Type.String(),
    isEnabled: Type.Boolean(),
  }),
)

const policy = component(
  'StructurePolicy',
  Type.Object({
    name: Type.String(),
    command: Type.String(),
    isPermissive: Type.Boolean(),
    roles: texts,
    using: nullableText,
    check: nullableText,
  }),
)

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
      columns: Type.Array(column),
      constraints: Type.Array(constraint),
      indexes: Type.Array(index),
      triggers: Type.Array(trigger),
      policies: Type.Array(policy),
      grants: Type.Array(Type.Object({ role: Type.String(), privileges: texts })),
      dependents: Type.Array(Type.Object({ kind: Type.String(), name: Type.String() }), {
        description: 'What would have to be dropped before it.',
      }),
      query: Type.Union([Type.String(), Type.Null()], { description: 'Of a view.' }),
      definition: Type.String({ description: 'SQL that makes it as it is, for reading.' }),
    }),
  }),
}

const tableColumns = Type.Object({ schema: Type.String(), name: Type.String(), columns: texts })

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
      count: Type.Integer({ description: 'Of tables; more than are listed, when they are too many.' }),
      tables: Type.Array(
        Type.Object({
          schema: Type.String(),
          name: Type.String(),
          columns: Type.Array(
            Type.Object({ name: Type.String(), type: Type.String(), isKey: Type.Boolean() }),
          ),
        }),
      ),
      references: Type.Array(Type.Object({ name: Type.String(), from: tableColumns, to: tableColumns })),
    }),
  }),
}

const named = { schema: Type.String(), name: Type.String() }

const structureObjects = component(
  'StructureObjects',
  Type.Object({
    schemas: Type.Array(Type.Object({ name: Type.String(), isServed: Type.Boolean() })),
    enums: Type.Array(Type.Object({ ...named, comment: nullableText, values: texts, usedBy: texts })),
    domains: Type.Array(
      Type.Object({
        ...named,
        type: Type.String(),
        isNotNull: Type.Boolean(),
        default: nullableText,
        checks: texts,
      }),
    ),
    compositeTypes: Type.Array(
      Type.Object({
        ...named,
        attributes: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
      }),
    ),
    functions: Type.Array(
      Type.Object({
        ...named,
        arguments: Type.String(),
        returns: nullableText,
        language: Type.String(),
        kind: Type.String(),
        isSecurityDefiner: Type.Boolean(),
        definition: nullableText,
      }),
    ),
    sequences: Type.Array(
      Type.Object({
        ...named,
        type: Type.String(),
        lastValue: nullableText,
        maxValue: Type.String(),
        increment: Type.String(),
        ownedBy: nullableText,
      }),
    ),
    extensions: Type.Array(
      Type.Object({ name: Type.String(), version: Type.String(), schema: Type.String() }),
    ),
    columnTypes: Type.Array(Type.String(), { description: 'Types that a column can have.' }),
    roles: Type.Array(Type.String()),
  }),
)
/** What stands beside the relations, as PostgreSQL prints it. */
export type StructureObjects = Static<typeof structureObjects>

export const getObjectsSchema = {
  tags,
  security,
  summary: 'List types, functions, sequences and extensions',
  description: 'At most 1,000 of each kind.',
  response: responses({ 200: structureObjects }),
}

const warning = component(
  'StructureWarning',
  Type.Object({
    kind: Type.Enum(['open', 'access', 'removes', 'renames', 'rewrites', 'reads', 'blocks', 'not rehearsed']),
    message: Type.String(),
  }),
)
/** What a person should know before the change is applied. */
export type Warning = Static<typeof warning>

const lock = component(
  'StructureLock',
  Type.Object({
    relation: Type.String(),
    mode: Type.String(),
    blocks: Type.Enum(['reads and writes', 'writes', 'changes of the schema']),
    heldMs: Type.Number({ description: 'From the statement that took it to the end of the transaction.' }),
    line: Type.Integer(),
  }),
)

const schemaChange = component(
  'SchemaChange',
  Type.Object({
    kind: Type.String(),
    name: Type.String(),
    change: Type.Enum(['added', 'removed', 'changed']),
    before: Type.Optional(Type.String()),
    after: Type.Optional(Type.String()),
  }),
)

const accessChange = component(
  'AccessChange',
  Type.Object({
    role: Type.String(),
    object: Type.String(),
    gained: texts,
    lost: texts,
    rowsBefore: Type.String(),
    rowsAfter: Type.String(),
  }),
)

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
      warnings: Type.Array(warning, {
        description: 'The gravest first.',
      }),
      locks: Type.Optional(Type.Array(lock)),
      rewritten: Type.Optional(Type.Array(Type.Object({ relation: Type.String(), bytes: Type.Number() }))),
      changes: Type.Optional(Type.Array(schemaChange)),
      access: Type.Optional(Type.Array(accessChange)),
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
