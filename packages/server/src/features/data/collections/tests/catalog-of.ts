import { buildCatalog } from '../../../../database/catalog/build.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { ColumnRow } from '../../../../database/catalog/queries/columns.ts'
import type { ConstraintRow } from '../../../../database/catalog/queries/constraints.ts'
import type { IndexRow } from '../../../../database/catalog/queries/indexes.ts'
import type { RelationRow } from '../../../../database/catalog/queries/relations.ts'
import type { TypeRow } from '../../../../database/catalog/queries/types.ts'
import type { TypeName } from '../../../../database/sql.ts'

/** Table in a catalog of tests without a database. */
export interface TableFixture {
  /** Types by column name, in table order. A `?` at the end makes the column nullable. */
  readonly columns: Readonly<Record<string, string>>
  readonly primaryKey: readonly string[]
  /** Further unique keys. */
  readonly unique?: readonly (readonly string[])[]
  /** Methods of further indexes by the indexed column. */
  readonly indexes?: Readonly<Record<string, string>>
  /** Columns with a default. */
  readonly defaults?: readonly string[]
  /** Tables by the column that refers to their first column. */
  readonly references?: Readonly<Record<string, string>>
  /** True if Citus stores the rows on its workers. */
  readonly isOnWorkers?: boolean
}

/** Describes a single table, as {@link catalogOf} does. */
export function relationOf(table: TableFixture): Relation {
  const relation = catalogOf({ sample: table }).relations.get('sample')
  if (relation === undefined) throw new Error('the sample is missing')
  return relation
}

/**
 * Describes tables as the catalog of a database would. Callers have every privilege on them. Pure.
 *
 * @param extensions versions by name
 */
export function catalogOf(
  tables: Readonly<Record<string, TableFixture>>,
  extensions: Readonly<Record<string, string>> = {},
): Catalog {
  const names = Object.keys(tables)
  const oidOf = (name: string) => String(1000 + names.indexOf(name))
  const entries = Object.entries(tables)
  return buildCatalog(
    {
      fingerprint: '',
      relations: names.map((name) => relationRow(oidOf(name), name)),
      columns: entries.flatMap(([name, table]) => columnRows(oidOf(name), table)),
      types,
      constraints: entries.flatMap(([name, table]) => constraintRows(name, table, oidOf)),
      indexes: entries.flatMap(([name, table]) => indexRows(oidOf(name), name, table)),
      policies: [],
      rlsGaps: [],
      viewRules: [],
      functions: [],
      extensions: Object.entries(extensions).map(([name, version]) => ({ name, version, schema: 'public' })),
      distributions: entries.flatMap(([name, { isOnWorkers }]) =>
        isOnWorkers === true ? [{ oid: oidOf(name), is_on_workers: true }] : [],
      ),
    },
    { schemas: ['public'] },
    new Date(0),
  )
}

function relationRow(oid: string, name: string): RelationRow {
  return {
    oid,
    schema: 'public',
    name,
    kind: 'r',
    comment: null,
    rls_enabled: false,
    has_descendants: false,
    partition_of: null,
    is_of_extension: false,
    is_bypassed: true,
    schema_usable: true,
    can_select: true,
    can_select_all: true,
    can_insert: true,
    can_update: true,
    can_delete: true,
    anonymous_schema_usable: false,
    anonymous_privileges: [],
    anonymous_can_select_all: false,
  }
}

function columnRows(oid: string, { columns, defaults = [] }: TableFixture): ColumnRow[] {
  return Object.entries(columns).map(([name, type], index) => {
    const typeName = type.replace(/\?$/, '')
    const row = types.find(({ full_name }) => full_name === typeName.replace(/\(\d+\)$/, ''))
    if (row === undefined) throw new Error(`the catalog of tests has no type ${type}`)
    return {
      relation_oid: oid,
      name,
      position: index + 1,
      // PostgreSQL prints these names.
      type: typeName as TypeName,
      type_oid: row.oid,
      nullable: type.endsWith('?'),
      default: defaults.includes(name) ? "nextval('ids')" : null,
      identity: '',
      generated: '',
      comment: null,
      can_select: true,
      can_insert: true,
      can_update: true,
      anonymous_privileges: [],
      version: '1',
    }
  })
}

function constraintRows(
  table: string,
  { columns, primaryKey, references = {} }: TableFixture,
  oidOf: (table: string) => string,
): ConstraintRow[] {
  const primary: ConstraintRow = {
    relation_oid: oidOf(table),
    name: `${table}_pkey`,
    kind: 'p',
    columns: positionsOf(columns, primaryKey),
    referenced_oid: '0',
    referenced_columns: null,
    on_update: ' ',
    on_delete: ' ',
    definition: '',
    comment: null,
    is_inherited: false,
    has_period: false,
  }
  const foreign = Object.entries(references).map(
    ([column, target]): ConstraintRow => ({
      ...primary,
      name: `${table}_${column}_fkey`,
      kind: 'f',
      columns: positionsOf(columns, [column]),
      referenced_oid: oidOf(target),
      referenced_columns: [1],
    }),
  )
  return primaryKey.length === 0 ? foreign : [primary, ...foreign]
}

function indexRows(
  oid: string,
  table: string,
  { columns, primaryKey, unique = [], indexes = {} }: TableFixture,
): IndexRow[] {
  const keys = primaryKey.length === 0 ? unique : [primaryKey, ...unique]
  const further = Object.entries(indexes).map(([column, method]) => ({
    ...indexRow(`${table}_${column}_idx`, [column]),
    is_unique: false,
    method,
  }))
  return [...keys.map((key) => indexRow(`${table}_${key.join('_')}_key`, key)), ...further]

  function indexRow(name: string, key: readonly string[]): IndexRow {
    return {
      relation_oid: oid,
      name,
      is_unique: true,
      is_primary: key === primaryKey,
      is_valid: true,
      is_partial: false,
      method: 'btree',
      columns: positionsOf(columns, key),
      key_count: key.length,
      is_key: true,
      definition: '',
    }
  }
}

function positionsOf(columns: TableFixture['columns'], names: readonly string[]): number[] {
  return names.map((name) => Object.keys(columns).indexOf(name) + 1)
}

const types: readonly TypeRow[] = [
  typeRow('16', 'bool', 'boolean', 'B'),
  typeRow('20', 'int8', 'bigint', 'N'),
  typeRow('23', 'int4', 'integer', 'N'),
  typeRow('25', 'text', 'text', 'S'),
  typeRow('1009', '_text', 'text[]', 'A', '25'),
  typeRow('1082', 'date', 'date', 'D'),
  typeRow('1184', 'timestamptz', 'timestamp with time zone', 'D'),
  typeRow('1700', 'numeric', 'numeric', 'N'),
  typeRow('2950', 'uuid', 'uuid', 'U'),
  typeRow('3802', 'jsonb', 'jsonb', 'U'),
  typeRow('3904', 'int4range', 'int4range', 'R'),
  { ...typeRow('90001', 'vector', 'vector', 'U'), schema: 'public', has_order: false },
]

function typeRow(oid: string, name: string, fullName: string, category: string, element = '0'): TypeRow {
  return {
    oid,
    name,
    version: '1',
    schema: 'pg_catalog',
    // PostgreSQL prints these names.
    full_name: fullName as TypeName,
    kind: category === 'R' ? 'r' : 'b',
    category,
    base_oid: '0',
    not_null: false,
    default: null,
    element_oid: element,
    has_equality: true,
    has_order: true,
    operators: null,
    labels: null,
    attributes: null,
  }
}
