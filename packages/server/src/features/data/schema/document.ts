import type {
  Catalog,
  Column,
  DatabaseFunction,
  ForeignKey,
  Relation,
} from '../../../database/catalog/model.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { describeColumn, type Viewer } from './column.ts'

const anyObject = Type.Object({}, { additionalProperties: true })

export const SchemaDocument = component(
  'Schema',
  Type.Object({
    tables: Type.Object({}, { additionalProperties: anyObject, description: 'Tables by `schema.table`.' }),
    functions: Type.Object(
      {},
      { additionalProperties: anyObject, description: 'Functions by `schema.function`.' },
    ),
    schemas: Type.Array(Type.String()),
    hasPostGIS: Type.Boolean(),
    postGISVersion: Type.Optional(Type.String()),
    hasPostGISRaster: Type.Boolean(),
    postGISRasterVersion: Type.Optional(Type.String()),
    postGISExtensions: Type.Optional(Type.Array(Type.String())),
    hasPgVector: Type.Boolean(),
    hasPgTrgm: Type.Boolean(),
    builtAt: Type.String(),
  }),
)

/**
 * Describes the catalog snapshot for a viewer. JSON leaves out undefined values. Pure.
 *
 * @param tables tables that a program may use, as `allowedTables` of an API key; undefined for all
 */
export function describeCatalog(catalog: Catalog, viewer: Viewer, tables?: ReadonlySet<string>) {
  const { relations, functions, schemas, extensions, builtAt } = catalog
  const view = viewer === 'caller' ? callerView(catalog, tables) : wholeView
  const seen = [...relations.values()].filter(view.sees)
  const callable = functions.filter(
    ({ procedure, callersMayExecute }) =>
      viewer === 'administrator' || (callersMayExecute && tables?.has(`rpc:${procedure}`) !== false),
  )
  const describe = (relation: Relation): [string, object] => [
    nameOf(relation),
    describeRelation(catalog, relation, viewer, view),
  ]
  return {
    tables: Object.fromEntries(seen.map(describe)),
    functions: describeFunctions(callable),
    schemas,
    hasPostGIS: extensions.has('postgis'),
    postGISVersion: extensions.get('postgis'),
    hasPostGISRaster: extensions.has('postgis_raster'),
    postGISRasterVersion: extensions.get('postgis_raster'),
    postGISExtensions: unlessEmpty(
      [...extensions.keys()].filter((name) => /^postgis(_|$)/.test(name)).sort(),
    ),
    hasPgVector: extensions.has('vector'),
    hasPgTrgm: extensions.has('pg_trgm'),
    builtAt: builtAt.toISOString(),
  }
}

const nameOf = ({ schema, name }: { readonly schema: string; readonly name: string }) => `${schema}.${name}`

/** Part of the catalog that a viewer sees. An object that names something hidden is left out, too. */
interface View {
  readonly sees: (relation: Relation) => boolean
  readonly seesColumn: (column: Column) => boolean
  /** Returns whether all these columns of the relation are visible. */
  readonly seesAll: (schema: string, relation: string, columns: readonly string[]) => boolean
}

const wholeView: View = { sees: () => true, seesColumn: () => true, seesAll: () => true }

function callerView({ relations }: Catalog, tables: ReadonlySet<string> | undefined): View {
  const byName = new Map([...relations.values()].map((each) => [nameOf(each), each]))
  const sees = ({ callers, collection }: Relation) => callers.select && tables?.has(collection) !== false
  return {
    sees,
    seesColumn: ({ callersMaySelect }) => callersMaySelect,
    seesAll(schema, name, columns) {
      const relation = byName.get(`${schema}.${name}`)
      if (relation === undefined || !sees(relation)) return false
      return columns.every((column) => relation.column.get(column)?.callersMaySelect === true)
    },
  }
}

function describeRelation(catalog: Catalog, relation: Relation, viewer: Viewer, view: View) {
  const { schema, name, collection, kind, comment, rlsEnabled } = relation
  const primaryKey = relation.primaryKey.map((column) => column.name)
  const hasPrimaryKey = primaryKey.length > 0 && view.seesAll(schema, name, primaryKey)
  return {
    schema,
    name,
    collection,
    kind,
    comment,
    columns: relation.columns
      .filter(view.seesColumn)
      .map((column) => describeColumn(relation, column, viewer)),
    primaryKey: hasPrimaryKey ? primaryKey : null,
    uniqueKeys: unlessEmpty(relation.uniqueKeys.filter(({ columns }) => view.seesAll(schema, name, columns))),
    foreignKeys: unlessEmpty(
      relation.foreignKeys
        .filter((key) => seesForeignKey(view, relation, key))
        .map(({ name: constraintName, ...key }) => ({ constraintName, ...key })),
    ),
    relationships: unlessEmpty(describeRelationships(catalog, relation, view)),
    rlsEnabled,
    ...(viewer === 'administrator' ? describeInternals(relation) : {}),
  }
}

function seesForeignKey(view: View, { schema, name }: Relation, key: ForeignKey): boolean {
  return (
    view.seesAll(schema, name, key.columns) &&
    view.seesAll(key.referencedSchema, key.referencedTable, key.referencedColumns)
  )
}

function describeRelationships(catalog: Catalog, relation: Relation, view: View) {
  const { schema, name } = relation
  return [...relation.relationships.values()].flatMap((relationship) => {
    const target = catalog.relations.get(relationship.target)
    const fromColumns = relationship.pairs.map(({ from }) => from)
    const toColumns = relationship.pairs.map(({ to }) => to)
    if (target === undefined || !view.seesAll(schema, name, fromColumns)) return []
    if (!view.seesAll(target.schema, target.name, toColumns)) return []
    return [
      {
        name: relationship.constraint,
        type: relationship.kind,
        fromSchema: schema,
        fromTable: name,
        fromColumns,
        toSchema: target.schema,
        toTable: target.name,
        toColumns,
        fieldName: relationship.name,
      },
    ]
  })
}

/** Describes the storage and protection of a table. A caller does not need it, and it would help an attacker. */
function describeInternals({ checks, indexes, policies }: Relation) {
  return {
    checkConstraints: unlessEmpty(checks),
    indexes: unlessEmpty(
      indexes.map(({ name, isUnique, isPrimary, method, columns, definition }) => ({
        name,
        isUnique,
        isPrimary,
        method,
        columns,
        definition,
      })),
    ),
    rlsPolicies: unlessEmpty(
      policies.map(({ name, command, permissive, roles, using, check }) => ({
        name,
        command,
        permissive,
        roles,
        usingExpr: using,
        withCheckExpr: check,
      })),
    ),
  }
}

/** Returns functions by name. Those whose name is already used have their parameters in the key. */
function describeFunctions(functions: readonly DatabaseFunction[]): Readonly<Record<string, object>> {
  const described = new Map<string, object>()
  for (const item of functions) {
    const name = nameOf(item)
    const types = item.parameters.map(({ typeName }) => typeName).join(', ')
    described.set(described.has(name) ? `${name}(${types})` : name, describeFunction(item))
  }
  return Object.fromEntries(described)
}

function describeFunction({ schema, name, comment, parameters, returnType, returnsSet }: DatabaseFunction) {
  const described = parameters.map(({ name: parameter, typeName, isVariadic }, index) => ({
    name: parameter,
    type: typeName,
    position: index + 1,
    isVariadic: isVariadic || undefined,
  }))
  return {
    schema,
    name,
    comment,
    parameters: described.length === 0 ? null : described,
    returnType,
    returnsSet,
  }
}

function unlessEmpty<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items
}
