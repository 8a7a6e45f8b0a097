import { buildFunctions } from './build-functions.ts'
import { createTypeBuilder, createTypeDescriber } from './build-types.ts'
import type {
  Catalog,
  Column,
  ColumnType,
  ForeignKey,
  Index,
  Privileges,
  Relation,
  RelationKind,
} from './model.ts'
import type { ColumnRow } from './queries/columns.ts'
import type { ConstraintRow } from './queries/constraints.ts'
import type { DistributionRow } from './queries/distributions.ts'
import type { ExtensionRow } from './queries/extensions.ts'
import type { FunctionRow } from './queries/functions.ts'
import type { IndexRow } from './queries/indexes.ts'
import type { PolicyRow } from './queries/policies.ts'
import type { RelationRow } from './queries/relations.ts'
import type { RlsGapRow } from './queries/rls-gaps.ts'
import type { TypeRow } from './queries/types.ts'
import type { ViewRuleRow } from './queries/view-rules.ts'
import { type ForeignKeyEdge, findViewKeys, nameRelationships, type ViewColumn } from './relationships.ts'
import { versionOf } from './version-of.ts'
import { findOrigins } from './view-origins.ts'

export interface CatalogRows {
  readonly fingerprint: string
  readonly relations: readonly RelationRow[]
  readonly columns: readonly ColumnRow[]
  readonly types: readonly TypeRow[]
  readonly constraints: readonly ConstraintRow[]
  readonly indexes: readonly IndexRow[]
  readonly policies: readonly PolicyRow[]
  readonly rlsGaps: readonly RlsGapRow[]
  readonly functions: readonly FunctionRow[]
  readonly extensions: readonly ExtensionRow[]
  readonly distributions: readonly DistributionRow[]
  readonly viewRules: readonly ViewRuleRow[]
}

/** Builds the catalog from the rows of the catalog queries. Pure. */
export function buildCatalog(
  rows: CatalogRows,
  {
    schemas,
    exposePartitions = false,
  }: { readonly schemas: readonly string[]; readonly exposePartitions?: boolean },
  builtAt: Date,
): Catalog {
  const typeOf = createTypeBuilder(rows.types)
  const describeType = createTypeDescriber(rows.types)
  const columnsOf = groupBy(rows.columns, (row) => row.relation_oid)
  const constraintsOf = groupBy(rows.constraints, (row) => row.relation_oid)
  const indexesOf = groupBy(rows.indexes, (row) => row.relation_oid)
  const policiesOf = groupBy(rows.policies, (row) => row.relation_oid)
  const rlsGaps = new Map(
    rows.rlsGaps.map(({ relation_oid, schema, name, kind }) => [
      relation_oid,
      { schema, name, kind: relationKinds[kind] },
    ]),
  )
  const byOid = new Map(rows.relations.map((row) => [row.oid, row]))
  const columnNames = (oid: string, positions: readonly number[] | null) =>
    (positions ?? []).map(
      (position) => columnsOf.get(oid)?.find((column) => column.position === position)?.name ?? '',
    )
  // System tables, which streams name, are no collections, so nothing expands to them.
  const exposed = new Map([...byOid].filter(([, { schema }]) => schemas.includes(schema)))
  const tableOf = ({ partition_of: root }: RelationRow) => (root === null ? undefined : exposed.get(root))
  const isHidden = (row: RelationRow) => !exposePartitions && tableOf(row) !== undefined
  const served = new Map([...exposed].filter(([, row]) => !isHidden(row)))
  const edges = foreignKeyEdges(rows.constraints, served, columnNames)
  const viewKeys = findViewKeys(edges, findColumnsOfViews(rows.viewRules, served, columnNames))
  const relationships = nameRelationships(edges, viewKeys)

  const isOnWorkers = new Map(rows.distributions.map((each) => [each.oid, each.is_on_workers]))

  const relations = rows.relations.map((row): Relation => {
    const columnRows = columnsOf.get(row.oid) ?? []
    const columns = columnRows.map((column) => buildColumn(column, row.kind, typeOf))
    const mayHoldNull = new Set(columnRows.filter(({ nullable }) => nullable).map(({ name }) => name))
    const constraints = constraintsOf.get(row.oid) ?? []
    const table = tableOf(row)
    const primary = constraints.find((constraint) => constraint.kind === 'p')
    const indexRows = indexesOf.get(row.oid) ?? []
    const pick = (positions: readonly number[] | null | undefined) =>
      (positions ?? []).flatMap((position) => columns.find((column) => column.position === position) ?? [])
    const primaryKey = pick(primary?.columns)
    const keys = indexRows
      .filter((index) => index.is_key)
      .map((index) => pick(index.columns.slice(0, index.key_count)))
    return {
      oid: row.oid,
      schema: row.schema,
      name: row.name,
      collection: collectionName(row),
      kind: relationKinds[row.kind],
      comment: row.comment ?? undefined,
      rlsEnabled: row.rls_enabled,
      hasDescendants: row.has_descendants,
      isOnWorkers: isOnWorkers.get(row.oid) === true,
      isInShards: isOnWorkers.has(row.oid),
      partitionOf: table && collectionName(table),
      isOfExtension: row.is_of_extension,
      rlsGap: rlsGaps.get(row.oid),
      isBypassed: row.is_bypassed,
      callers: keepOfExtension(row, {
        select: row.schema_usable && row.can_select,
        insert: row.schema_usable && row.can_insert,
        update: row.schema_usable && row.can_update,
        delete: row.schema_usable && row.can_delete,
      }),
      anonymous: keepOfExtension(row, anonymousPrivilegesOf(row)),
      callersMayReadSystemColumns: row.schema_usable && row.can_select_all,
      anonymousMayReadSystemColumns: row.anonymous_schema_usable && row.anonymous_can_select_all,
      version: relationVersion(row, columnRows, describeType),
      columns,
      column: new Map(columns.map((column) => [column.name, column])),
      primaryKey,
      rowKey: primaryKey.length > 0 ? primaryKey : findUniqueKey(keys, mayHoldNull),
      uniqueKeys: constraints
        .filter((constraint) => constraint.kind === 'u')
        .map(({ name, columns: positions }) => ({ name, columns: columnNames(row.oid, positions) })),
      conflictKeys: keys,
      checks: constraints
        .filter((constraint) => constraint.kind === 'c')
        .map(({ name, definition }) => ({ name, definition: definition ?? '' })),
      foreignKeys: constraints
        .filter((constraint) => constraint.kind === 'f')
        .flatMap((constraint) => buildForeignKey(constraint, byOid, columnNames)),
      relationships: relationships.get(collectionName(row)) ?? new Map(),
      indexes: indexRows.map((index) => buildIndex(index, columnNames)),
      policies: (policiesOf.get(row.oid) ?? []).map((policy) => ({
        name: policy.name,
        version: policy.version,
        command: policy.command,
        permissive: policy.permissive,
        roles: policy.roles,
        isForCallers: policy.is_for_callers,
        isForAnonymous: policy.is_for_anonymous,
        using: policy.using_expression ?? undefined,
        check: policy.check_expression ?? undefined,
        readsRelations: policy.reads_relations,
        columns: policy.columns ?? undefined,
      })),
    }
  })

  const functions = buildFunctions(rows.functions, { rows: rows.types, typeOf, describe: describeType })

  return Object.freeze({
    fingerprint: rows.fingerprint,
    builtAt,
    schemas,
    // A table of `public` with a dot in its name takes precedence over a schema of that name.
    relations: byCollection(
      relations
        .filter(({ oid }) => served.has(oid))
        .sort((one, other) => Number(one.schema === 'public') - Number(other.schema === 'public')),
    ),
    partitions: byCollection(relations.filter(({ oid }) => exposed.has(oid) && !served.has(oid))),
    systemRelations: byCollection(relations.filter(({ schema }) => !schemas.includes(schema))),
    functions,
    procedures: groupBy(functions, ({ procedure }) => procedure),
    extensions: new Map(rows.extensions.map(({ name, version }) => [name, version])),
    extensionSchemas: new Map(rows.extensions.map(({ name, schema }) => [name, schema])),
  })
}

const relationKinds: Readonly<Record<RelationRow['kind'], RelationKind>> = {
  r: 'table',
  p: 'partitioned_table',
  v: 'view',
  m: 'materialized_view',
  f: 'foreign_table',
}

function byCollection(relations: readonly Relation[]): ReadonlyMap<string, Relation> {
  return new Map(relations.map((relation) => [relation.collection, Object.freeze(relation)]))
}

function collectionName({ schema, name }: { schema: string; name: string }): string {
  return schema === 'public' ? name : `${schema}.${name}`
}

/**
 * Restricts the privileges on tables of extensions, which only the extension may write. `create extension` may
 * have run after the default privileges that open new tables to callers.
 */
function keepOfExtension({ is_of_extension: isOfExtension }: RelationRow, granted: Privileges): Privileges {
  return isOfExtension ? { ...granted, insert: false, update: false, delete: false } : granted
}

function anonymousPrivilegesOf(row: RelationRow): Privileges {
  const has = (privilege: string) =>
    row.anonymous_schema_usable && row.anonymous_privileges.includes(privilege)
  return { select: has('SELECT'), insert: has('INSERT'), update: has('UPDATE'), delete: has('DELETE') }
}

function buildColumn(row: ColumnRow, kind: RelationRow['kind'], typeOf: (oid: string) => ColumnType): Column {
  const type = typeOf(row.type_oid)
  // A view shows NULL in a column of any domain, where an outer join finds nothing (PostgreSQL, CREATE DOMAIN,
  // Notes).
  const isStored = kind === 'r' || kind === 'p' || kind === 'f'
  const isComputed = row.identity !== '' || row.generated !== ''
  return {
    name: row.name,
    position: row.position,
    type,
    typeName: row.type,
    nullable: row.nullable && !(isStored && type.isNotNull),
    default: row.default ?? (isStored && !isComputed ? type.default : undefined),
    identity: row.identity === 'a' ? 'always' : row.identity === 'd' ? 'by default' : undefined,
    isGenerated: row.generated !== '',
    comment: row.comment ?? undefined,
    callersMaySelect: row.can_select,
    anonymousMaySelect: row.anonymous_privileges.includes('SELECT'),
    callersMayInsert: row.can_insert,
    callersMayUpdate: row.can_update,
    anonymousMayInsert: row.anonymous_privileges.includes('INSERT'),
    anonymousMayUpdate: row.anonymous_privileges.includes('UPDATE'),
  }
}

/**
 * Returns the version of a relation. It includes the transactions that defined the columns, because a type may
 * change and change back while a statement uses it.
 */
function relationVersion(
  relation: RelationRow,
  columns: readonly ColumnRow[],
  describeType: (oid: string) => string,
): string {
  const parts = columns.map(({ position, version, type_oid }) => [position, version, describeType(type_oid)])
  return versionOf(relation.oid, parts)
}

/**
 * Finds the smallest unique key without nullable columns. A domain can reject NULL only where a value is given.
 */
function findUniqueKey(
  keys: readonly (readonly Column[])[],
  mayHoldNull: ReadonlySet<string>,
): readonly Column[] {
  const whole = keys.filter(
    (columns) => columns.length > 0 && columns.every(({ name }) => !mayHoldNull.has(name)),
  )
  return whole.sort((one, other) => one.length - other.length)[0] ?? []
}

function buildForeignKey(
  row: ConstraintRow,
  byOid: ReadonlyMap<string, RelationRow>,
  columnNames: (oid: string, positions: readonly number[] | null) => string[],
): ForeignKey[] {
  const referenced = byOid.get(row.referenced_oid)
  if (referenced === undefined) return []
  return [
    {
      name: row.name,
      columns: columnNames(row.relation_oid, row.columns),
      referencedSchema: referenced.schema,
      referencedTable: referenced.name,
      referencedColumns: columnNames(row.referenced_oid, row.referenced_columns),
      onUpdate: referentialActions[row.on_update] ?? 'NO ACTION',
      onDelete: referentialActions[row.on_delete] ?? 'NO ACTION',
    },
  ]
}

const referentialActions: Readonly<Record<string, string>> = {
  a: 'NO ACTION',
  r: 'RESTRICT',
  c: 'CASCADE',
  n: 'SET NULL',
  d: 'SET DEFAULT',
}

function foreignKeyEdges(
  constraints: readonly ConstraintRow[],
  byOid: ReadonlyMap<string, RelationRow>,
  columnNames: (oid: string, positions: readonly number[] | null) => string[],
): ForeignKeyEdge[] {
  return constraints.flatMap((row) => {
    const from = byOid.get(row.relation_oid)
    const to = byOid.get(row.referenced_oid)
    // With PERIOD the ranges overlap and are not equal, so no value leads from one record to another.
    if (row.kind !== 'f' || row.has_period || from === undefined || to === undefined) return []
    return [
      {
        constraint: row.name,
        from: {
          collection: collectionName(from),
          schema: from.schema,
          table: from.name,
          columns: columnNames(from.oid, row.columns),
          position: row.columns?.[0] ?? 0,
        },
        to: {
          collection: collectionName(to),
          schema: to.schema,
          table: to.name,
          columns: columnNames(to.oid, row.referenced_columns),
        },
        isInherited: row.is_inherited,
        comment: row.comment ?? undefined,
      },
    ]
  })
}

/** Lists the columns of served views that show columns of served tables. */
function findColumnsOfViews(
  rules: readonly ViewRuleRow[],
  served: ReadonlyMap<string, RelationRow>,
  columnNames: (oid: string, positions: readonly number[] | null) => string[],
): ViewColumn[] {
  return [...findOrigins(rules)].flatMap(([oid, origins]) => {
    const view = served.get(oid)
    if (view === undefined) return []
    return [...origins].flatMap(([position, origin]) => {
      const table = served.get(origin.oid)
      if (table === undefined) return []
      const [name = ''] = columnNames(oid, [position])
      const [column = ''] = columnNames(origin.oid, [origin.position])
      const { schema, name: viewName } = view
      return [
        {
          view: { collection: collectionName(view), schema, table: viewName },
          name,
          position,
          table: collectionName(table),
          column,
          row: origin.isOfOneRow ? origin.path.join(' ') : undefined,
        },
      ]
    })
  })
}

function buildIndex(
  row: IndexRow,
  columnNames: (oid: string, positions: readonly number[] | null) => string[],
): Index {
  const keys = row.columns.slice(0, row.key_count)
  return {
    name: row.name,
    isUnique: row.is_unique,
    isPrimary: row.is_primary,
    isValid: row.is_valid,
    isPartial: row.is_partial,
    method: row.method,
    columns: keys.includes(0) ? undefined : columnNames(row.relation_oid, keys),
    definition: row.definition ?? '',
  }
}

function groupBy<Row>(rows: readonly Row[], key: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(key(row))
    if (group === undefined) groups.set(key(row), [row])
    else group.push(row)
  }
  return groups
}
