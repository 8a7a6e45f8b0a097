import type { Relation } from '../../../../database/catalog/model.ts'
import { quoteIdentifier, type Sql, sql } from '../../../../database/sql.ts'
import { component } from '../../../../http/schemas.ts'
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
    sorted: Type.Array(Type.String(), { description: 'Columns that an index can sort by.' }),
    isCaptured: Type.Boolean({
      description: 'True if streams also receive changes made by plain SQL (`events.capture`).',
    }),
  }),
)

/** Returns what a grid needs to know of a table before it shows rows. */
export function describeTable(relation: Relation) {
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
    sorted: sortedColumns(relation),
  }
}

/** Returns the columns that rows can be sorted by without reading all of them. */
function sortedColumns({ indexes }: Relation): readonly string[] {
  const first = indexes.flatMap(({ isValid, method, columns }) =>
    isValid && method === 'btree' && columns?.[0] !== undefined ? [columns[0]] : [],
  )
  return [...new Set(first)]
}

/**
 * Returns whether triggers log changes made by plain SQL while a listener is interested. Only the owner of a table
 * may create such triggers.
 */
export function compileIsCaptured({ schema, name }: Relation): Sql {
  const table = sql.literal(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`)
  return sql`
    select not c.relispartition and pg_has_role(n.nspowner, c.relowner, 'usage')
    from pg_class c, pg_namespace n
    where c.oid = ${table}::regclass and n.nspname = 'basalt'`
}
