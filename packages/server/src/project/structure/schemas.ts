import { type Answered, component, nullable, timestamp } from '../../http/schemas.ts'
import { type Static, Type } from '../../lib/type.ts'
import { HeldLock } from '../migrations/observe.ts'
import { AccessChange } from '../schema/access.ts'
import { SchemaChange } from '../schema/objects.ts'

const texts = Type.Array(Type.String())
const nullableText = nullable(Type.String())

const summaryMembers = {
  schema: Type.String(),
  name: Type.String(),
  kind: Type.String({ description: 'table, partitioned table, view, materialized view or foreign table' }),
  comment: nullableText,
  estimatedRows: nullable(Type.Number(), { description: "Planner's estimate." }),
  bytes: Type.Number({ description: 'With indexes.' }),
  isRlsEnabled: Type.Boolean(),
  isRlsForced: Type.Boolean(),
  policyCount: Type.Integer(),
  options: Type.Array(Type.String(), { description: 'Such as `security_invoker=true`.' }),
  hasPrimaryKey: Type.Boolean(),
  isServed: Type.Boolean({ description: 'True if its schema is in `database.schemas`.' }),
  callers: Type.Object(
    { authenticated: Type.Array(Type.String()), anonymous: Type.Array(Type.String()) },
    { description: 'Privileges of callers with and without a token, before policies.' },
  ),
}

const ColumnDetail = component(
  'StructureColumn',
  Type.Object({
    name: Type.String(),
    type: Type.String(),
    isNullable: Type.Boolean(),
    default: nullableText,
    identity: nullable(Type.Enum(['always', 'by default'])),
    generated: nullable(Type.String(), { description: 'Its expression.' }),
    comment: nullableText,
  }),
)
export type ColumnDetail = Answered<typeof ColumnDetail>

const ConstraintDetail = component(
  'StructureConstraint',
  Type.Object({
    name: Type.String(),
    kind: Type.String(),
    definition: Type.String(),
    columns: texts,
    isValidated: Type.Boolean(),
    references: nullable(Type.Object({ schema: Type.String(), name: Type.String(), columns: texts })),
  }),
)
export type ConstraintDetail = Answered<typeof ConstraintDetail>

const IndexDetail = component(
  'StructureIndex',
  Type.Object({
    name: Type.String(),
    definition: Type.String(),
    method: Type.String(),
    isUnique: Type.Boolean(),
    isPrimary: Type.Boolean(),
    isValid: Type.Boolean({ description: 'false if it was built concurrently and failed.' }),
    constraint: nullable(Type.String(), { description: 'Constraint that the index belongs to.' }),
    condition: nullableText,
    bytes: Type.Number(),
    scans: Type.Number({ description: 'Scans since the statistics were reset.' }),
  }),
)
export type IndexDetail = Answered<typeof IndexDetail>

const TriggerDetail = component(
  'StructureTrigger',
  Type.Object({
    name: Type.String(),
    definition: Type.String(),
    function: Type.String(),
    isEnabled: Type.Boolean(),
  }),
)
export type TriggerDetail = Answered<typeof TriggerDetail>

const PolicyDetail = component(
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
export type PolicyDetail = Answered<typeof PolicyDetail>

/** Table or view in a list. */
export const RelationSummary = component('StructureRelationSummary', Type.Object(summaryMembers))
export type RelationSummary = Answered<typeof RelationSummary>

const detailMembers = {
  ...summaryMembers,
  owner: Type.String(),
  partitionKey: nullableText,
  partitionOf: nullable(Type.Object({ schema: Type.String(), name: Type.String() })),
  partitions: Type.Array(
    Type.Object({
      schema: Type.String(),
      name: Type.String(),
      bound: Type.String({ description: 'Values of the partition, as SQL.' }),
      estimatedRows: nullable(Type.Number()),
      bytes: Type.Number(),
    }),
  ),
  tableBytes: Type.Number(),
  indexBytes: Type.Number(),
  columns: Type.Array(ColumnDetail),
  constraints: Type.Array(ConstraintDetail),
  indexes: Type.Array(IndexDetail),
  triggers: Type.Array(TriggerDetail),
  policies: Type.Array(PolicyDetail),
  grants: Type.Array(Type.Object({ role: Type.String(), privileges: texts })),
  dependents: Type.Array(Type.Object({ kind: Type.String(), name: Type.String() }), {
    description: 'Objects that must be dropped before it.',
  }),
  query: nullable(Type.String(), { description: 'SQL query of a view.' }),
}

/** Table or view with its parts. */
export const RelationStructure = component(
  'StructureRelation',
  Type.Object({
    ...detailMembers,
    definition: Type.String({ description: 'SQL that describes it as it is, for reading.' }),
    eventGap: nullable(Type.String(), {
      description:
        'Reason why only writes by the API are followed by events; null if writes of all kinds are.',
    }),
  }),
)
/** Parts of a relation from which its definition is built. */
export type RelationDetail = Omit<Answered<typeof RelationStructure>, 'definition' | 'eventGap'>

const tableColumns = Type.Object({ schema: Type.String(), name: Type.String(), columns: texts })

/** Tables and the foreign keys between them. */
export const Diagram = component(
  'StructureDiagram',
  Type.Object({
    count: Type.Integer({
      description: 'Number of tables. It exceeds the listed ones when they are too many.',
    }),
    tables: Type.Array(
      Type.Object({
        schema: Type.String(),
        name: Type.String(),
        columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String(), isKey: Type.Boolean() })),
      }),
    ),
    references: Type.Array(Type.Object({ name: Type.String(), from: tableColumns, to: tableColumns })),
  }),
)
export type Diagram = Answered<typeof Diagram>

const named = { schema: Type.String(), name: Type.String() }

export const StructureObjects = component(
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
/** Objects other than relations, as PostgreSQL prints them. */
export type StructureObjects = Static<typeof StructureObjects>

const warning = component(
  'StructureWarning',
  Type.Object({
    kind: Type.Enum(['open', 'access', 'removes', 'renames', 'rewrites', 'reads', 'blocks', 'not rehearsed']),
    message: Type.String(),
  }),
)
/** Consequence that a person should know before applying the change. */
export type Warning = Static<typeof warning>

/** Plan of a change: its SQL, and its effects in a transaction that is rolled back. */
export const StructurePlan = component(
  'StructurePlan',
  Type.Object({
    sql: Type.String(),
    version: Type.String({ description: 'Version of the current structure, for `apply`.' }),
    isRehearsed: Type.Boolean(),
    warnings: Type.Array(warning, { description: 'Warnings, the gravest first.' }),
    locks: Type.Optional(Type.Array(HeldLock)),
    rewritten: Type.Optional(Type.Array(Type.Object({ relation: Type.String(), bytes: Type.Number() }))),
    changes: Type.Optional(Type.Array(SchemaChange)),
    access: Type.Optional(Type.Array(AccessChange)),
  }),
)

/** Migrations of the operator. */
export const MigrationStatus = component(
  'MigrationStatus',
  Type.Object({
    folder: nullable(Type.String(), { description: 'null where no folder can be written.' }),
    applied: Type.Array(Type.Object({ name: Type.String(), appliedAt: timestamp })),
    pending: texts,
    obstacles: Type.Array(Type.String(), { description: 'Reasons why nothing can be applied.' }),
    drift: Type.Integer({ description: 'Objects that were changed by other means than migrations.' }),
  }),
)
