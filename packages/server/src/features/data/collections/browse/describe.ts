import { parseColumnTags, textFormats } from '../../../../database/catalog/column-tags.ts'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { quoteIdentifier, type Sql, sql } from '../../../../database/sql.ts'
import { component, nullable } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { describeColumn } from '../../schema/index.ts'

const GridColumn = component(
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
    format: Type.Optional(
      Type.Enum([...textFormats], {
        description: 'Kind of a text, from a tag such as `@color` in the comment.',
      }),
    ),
    bucket: Type.Optional(Type.String({ description: 'Bucket of the tag `@file`.' })),
    isPrimaryKey: Type.Boolean(),
    isGeometry: Type.Boolean(),
    isGeography: Type.Boolean(),
    isRaster: Type.Optional(Type.Boolean()),
    geometryType: Type.Optional(Type.String({ description: 'Empty where the column accepts every kind.' })),
    srid: Type.Optional(Type.Integer()),
    coordDimension: Type.Optional(Type.Integer()),
    isVector: Type.Boolean(),
    vectorDim: Type.Optional(Type.Integer()),
    enumValues: Type.Optional(Type.Array(Type.String())),
  }),
)

export const GridTable = component(
  'GridTable',
  Type.Object({
    table: Type.String({ description: 'Name in the API.' }),
    schema: Type.String(),
    name: Type.String(),
    kind: Type.Enum(['table', 'partitioned_table', 'view', 'materialized_view', 'foreign_table']),
    comment: Type.Optional(Type.String()),
    rlsEnabled: Type.Boolean(),
    policies: Type.Integer(),
    isWritable: Type.Boolean(),
    primaryKey: Type.Array(Type.String()),
    columns: Type.Array(GridColumn, { description: 'As in `/api/schema`.' }),
    relations: Type.Array(
      component(
        'GridRelation',
        Type.Object({
          name: Type.String(),
          kind: Type.Enum(['many-to-one', 'one-to-many']),
          table: Type.String(),
          pairs: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
          constraint: Type.String(),
        }),
      ),
    ),
    label: nullable(Type.String(), {
      description:
        'Column by which people recognize a row: one with `@label` in its comment, a name or title, or the first text.',
    }),
    people: Type.Array(Type.String(), {
      description:
        'Columns with ids of users: foreign keys to `basalt.users`, and defaults of `basalt.user_id()`.',
    }),
    sorted: Type.Array(Type.String(), { description: 'Columns that an index can sort by.' }),
    cascades: Type.Array(Type.String(), {
      description:
        'Foreign keys to this table that delete rows with it, as in `constraint` of the relations.',
    }),
    isAudited: Type.Boolean({
      description: 'True if changes of its rows are in the audit log (`audit.tables`).',
    }),
    isCaptured: Type.Boolean({
      description: 'True if streams also receive changes made by plain SQL (`events.capture`).',
    }),
  }),
)

/** Describes a table for a grid, before it shows rows. */
export function describeTable(relation: Relation, { people, ...facts }: GridFacts) {
  const { collection, schema, name, kind, comment, rlsEnabled, primaryKey } = relation
  return {
    ...{ table: collection, schema, name, kind },
    ...(comment === undefined ? {} : { comment }),
    rlsEnabled,
    policies: relation.policies.length,
    isWritable: kind === 'table' || kind === 'partitioned_table',
    primaryKey: primaryKey.map((column) => column.name),
    columns: relation.columns.map((column) => describeColumn(relation, column, 'administrator')),
    relations: [...relation.relationships.values()].map((relationship) => ({
      name: relationship.name,
      kind: relationship.kind,
      table: relationship.target,
      pairs: relationship.pairs,
      constraint: relationship.constraint,
    })),
    label: labelOf(relation),
    people: peopleOf(relation, people),
    sorted: sortedColumns(relation),
    ...facts,
  }
}

/** Names of columns that usually have the name of a row. */
const usualLabels = /^(name|title|label|email|username|slug|code)$/i

/** Returns the column by which people recognize a row; null if it has neither a text nor a primary key. */
function labelOf({ columns, primaryKey }: Relation): string | null {
  const texts = columns.filter(({ type }) => type.isText)
  const label =
    columns.find(({ comment }) => parseColumnTags(comment).isLabel) ??
    texts.find(({ name }) => usualLabels.test(name)) ??
    texts[0] ??
    primaryKey[0]
  return label?.name ?? null
}

/** Returns the columns with ids of users, in table order. */
function peopleOf({ columns }: Relation, keys: readonly string[]): readonly string[] {
  const isPerson = (column: Column) => keys.includes(column.name) || column.default === 'basalt.user_id()'
  return columns.filter(isPerson).map(({ name }) => name)
}

/** Returns the columns that rows can be sorted by without reading all of them. */
function sortedColumns({ indexes }: Relation): readonly string[] {
  const first = indexes.flatMap(({ isValid, method, columns }) =>
    isValid && method === 'btree' && columns?.[0] !== undefined ? [columns[0]] : [],
  )
  return [...new Set(first)]
}

/** Facts about a table that the catalog does not have, as {@link compileFacts} returns them. */
export interface GridFacts {
  /** True if triggers log changes made by plain SQL while a listener is interested. */
  readonly isCaptured: boolean
  /** True if triggers record changes of rows in the audit log. */
  readonly isAudited: boolean
  /** Foreign keys of other tables that delete rows with those of this table. */
  readonly cascades: readonly string[]
  /** Columns with foreign keys to `basalt.users`. */
  readonly people: readonly string[]
}

/** Compiles the query of {@link GridFacts} as JSON. Only the owner of a table may create the triggers. */
export function compileFacts({ schema, name }: Relation, mayHaveTriggers: boolean): Sql {
  const table = sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)
  return sql`
    select json_build_object(
      'isCaptured', ${
        mayHaveTriggers
          ? sql`not c.relispartition and pg_has_role(n.nspowner, c.relowner, 'usage')`
          : sql`false`
      },
      'isAudited', exists (
        select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
        where t.tgrelid = c.oid and p.pronamespace = n.oid and starts_with(p.proname, 'audit_')
      ),
      'cascades', array(
        select k.conname from pg_constraint k
        where k.confrelid = c.oid and k.contype = 'f' and k.confdeltype = 'c' and k.conparentid = 0
        order by k.conname
      ),
      'people', array(
        select a.attname
        from pg_constraint k
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        where k.conrelid = c.oid and k.contype = 'f' and cardinality(k.conkey) = 1
          and k.confrelid = 'basalt.users'::regclass
      )
    )
    from pg_class c, pg_namespace n
    where c.oid = ${table}::regclass and n.nspname = 'basalt'`
}
