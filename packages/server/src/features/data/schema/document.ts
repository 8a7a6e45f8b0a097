import type {
  Catalog,
  Column,
  DatabaseFunction,
  ForeignKey,
  Relation,
  Relationship,
} from '../../../database/catalog/model.ts'
import { describeColumn, type Viewer } from './column.ts'

/** The schema document. */
export interface SchemaDocument {
  /** By `schema.table`. */
  readonly tables: Readonly<Record<string, object>>
  /** By `schema.function`; of several with one name all but the first have their parameters in the key. */
  readonly functions: Readonly<Record<string, object>>
  readonly schemas: readonly string[]
  readonly hasPostGIS: boolean
  readonly postGISVersion?: string
  readonly hasPostGISRaster: boolean
  readonly postGISRasterVersion?: string
  /** Names of the extensions of PostGIS that are installed. */
  readonly postGISExtensions?: readonly string[]
  readonly hasPgVector: boolean
  readonly hasPgTrgm: boolean
  readonly builtAt: string
}

/**
 * Describes the snapshot for a viewer. Pure.
 *
 * @param tables what a program may touch, as `allowedTables` of an API key; undefined: all
 */
export function describeCatalog(
  catalog: Catalog,
  viewer: Viewer,
  tables?: ReadonlySet<string>,
): SchemaDocument {
  const view = viewer === 'caller' ? callerView(catalog, tables) : wholeView
  const postGis = catalog.extensions.get('postgis')
  const raster = catalog.extensions.get('postgis_raster')
  return {
    tables: Object.fromEntries(
      [...catalog.relations.values()]
        .filter(view.sees)
        .map((relation) => [
          `${relation.schema}.${relation.name}`,
          describeRelation(catalog, relation, viewer, view),
        ]),
    ),
    functions: describeFunctions(
      catalog.functions.filter(
        ({ procedure, callersMayExecute }) =>
          viewer === 'administrator' || (callersMayExecute && tables?.has(`rpc:${procedure}`) !== false),
      ),
    ),
    schemas: catalog.schemas,
    hasPostGIS: postGis !== undefined,
    ...(postGis === undefined ? {} : { postGISVersion: postGis }),
    hasPostGISRaster: raster !== undefined,
    ...(raster === undefined ? {} : { postGISRasterVersion: raster }),
    ...unlessEmpty('postGISExtensions', postGisExtensions(catalog)),
    hasPgVector: catalog.extensions.has('vector'),
    hasPgTrgm: catalog.extensions.has('pg_trgm'),
    builtAt: catalog.builtAt.toISOString(),
  }
}

function postGisExtensions({ extensions }: Catalog): readonly string[] {
  return [...extensions.keys()].filter((name) => /^postgis(_|$)/.test(name)).sort()
}

/** What of the catalog a caller sees. What names something unseen is left out with it. */
interface View {
  readonly sees: (relation: Relation) => boolean
  readonly seesColumn: (column: Column) => boolean
  /** Whether all the columns of the relation with this schema and name are seen. */
  readonly seesAll: (schema: string, relation: string, columns: readonly string[]) => boolean
}

const wholeView: View = { sees: () => true, seesColumn: () => true, seesAll: () => true }

function callerView({ relations }: Catalog, tables: ReadonlySet<string> | undefined): View {
  const byName = new Map([...relations.values()].map((each) => [`${each.schema}.${each.name}`, each]))
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

function describeRelation(catalog: Catalog, relation: Relation, viewer: Viewer, view: View): object {
  const { schema, name } = relation
  const primaryKey = relation.primaryKey.map((column) => column.name)
  const hasPrimaryKey = primaryKey.length > 0 && view.seesAll(schema, name, primaryKey)
  return {
    schema,
    name,
    collection: relation.collection,
    kind: relation.kind,
    ...(relation.comment === undefined ? {} : { comment: relation.comment }),
    columns: relation.columns
      .filter(view.seesColumn)
      .map((column) => describeColumn(relation, column, viewer)),
    primaryKey: hasPrimaryKey ? primaryKey : null,
    ...unlessEmpty(
      'uniqueKeys',
      relation.uniqueKeys.filter(({ columns }) => view.seesAll(schema, name, columns)),
    ),
    ...unlessEmpty(
      'foreignKeys',
      relation.foreignKeys.filter((key) => seesForeignKey(view, relation, key)).map(describeForeignKey),
    ),
    ...unlessEmpty('relationships', describeRelationships(catalog, relation, view)),
    rlsEnabled: relation.rlsEnabled,
    ...(viewer === 'administrator' ? describeInternals(relation) : {}),
  }
}

function seesForeignKey(view: View, { schema, name }: Relation, key: ForeignKey): boolean {
  return (
    view.seesAll(schema, name, key.columns) &&
    view.seesAll(key.referencedSchema, key.referencedTable, key.referencedColumns)
  )
}

function describeForeignKey(key: ForeignKey): object {
  return {
    constraintName: key.name,
    columns: key.columns,
    referencedSchema: key.referencedSchema,
    referencedTable: key.referencedTable,
    referencedColumns: key.referencedColumns,
    onUpdate: key.onUpdate,
    onDelete: key.onDelete,
  }
}

function describeRelationships(catalog: Catalog, relation: Relation, view: View): object[] {
  const { schema, name } = relation
  return [...relation.relationships.values()].flatMap((relationship: Relationship) => {
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

/** How the table is kept and guarded: nothing a caller needs, and much an attacker would like to know. */
function describeInternals({ checks, indexes, policies }: Relation): object {
  return {
    ...unlessEmpty('checkConstraints', checks),
    ...unlessEmpty(
      'indexes',
      indexes.map(({ name, isUnique, isPrimary, method, columns, definition }) => ({
        name,
        isUnique,
        isPrimary,
        method,
        ...(columns === undefined ? {} : { columns }),
        definition,
      })),
    ),
    ...unlessEmpty(
      'rlsPolicies',
      policies.map(({ name, command, permissive, roles, using, check }) => ({
        name,
        command,
        permissive,
        roles,
        ...(using === undefined ? {} : { usingExpr: using }),
        ...(check === undefined ? {} : { withCheckExpr: check }),
      })),
    ),
  }
}

function describeFunctions(functions: readonly DatabaseFunction[]): Record<string, object> {
  const described = new Map<string, object>()
  for (const item of functions) {
    const name = `${item.schema}.${item.name}`
    const key = described.has(name)
      ? `${name}(${item.parameters.map(({ typeName }) => typeName).join(', ')})`
      : name
    described.set(key, describeFunction(item))
  }
  return Object.fromEntries(described)
}

function describeFunction(item: DatabaseFunction): object {
  return {
    schema: item.schema,
    name: item.name,
    ...(item.comment === undefined ? {} : { comment: item.comment }),
    parameters:
      item.parameters.length === 0
        ? null
        : item.parameters.map(({ name, typeName, isVariadic }, index) => ({
            name,
            type: typeName,
            position: index + 1,
            ...(isVariadic ? { isVariadic } : {}),
          })),
    returnType: item.returnType,
    returnsSet: item.returnsSet,
  }
}

function unlessEmpty(name: string, items: readonly unknown[]): object {
  return items.length === 0 ? {} : { [name]: items }
}
