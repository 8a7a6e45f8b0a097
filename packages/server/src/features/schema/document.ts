import type {
  Catalog,
  Column,
  DatabaseFunction,
  Relation,
  Relationship,
} from '../../database/catalog/model.ts'

/** Who reads the document: a caller sees what it may use, the administrator everything. */
export type Viewer = 'caller' | 'administrator'

/** The schema document (facts, GET /api/schema; interface, Schema document). */
export interface SchemaDocument {
  readonly tables: Readonly<Record<string, object>>
  readonly functions: Readonly<Record<string, object>>
  readonly schemas: readonly string[]
  readonly hasPostGIS: boolean
  readonly postGISVersion?: string
  readonly hasPgVector: boolean
  readonly hasPgTrgm: boolean
  readonly builtAt: string
}

/** Describes the snapshot for a viewer. Pure. */
export function describeCatalog(catalog: Catalog, viewer: Viewer): SchemaDocument {
  const relations = [...catalog.relations.values()].filter((relation) => isVisible(relation, viewer))
  const functions = catalog.functions.filter(
    ({ callersMayExecute }) => viewer === 'administrator' || callersMayExecute,
  )
  const postGis = catalog.extensions.get('postgis')
  return {
    tables: Object.fromEntries(
      relations.map((relation) => [
        `${relation.schema}.${relation.name}`,
        describeRelation(catalog, relation, viewer),
      ]),
    ),
    functions: Object.fromEntries(
      functions.map((item) => [`${item.schema}.${item.name}`, describeFunction(item)]),
    ),
    schemas: catalog.schemas,
    hasPostGIS: postGis !== undefined,
    ...(postGis === undefined ? {} : { postGISVersion: postGis }),
    hasPgVector: catalog.extensions.has('vector'),
    hasPgTrgm: catalog.extensions.has('pg_trgm'),
    builtAt: catalog.builtAt.toISOString(),
  }
}

function isVisible({ callers }: Relation, viewer: Viewer): boolean {
  return viewer === 'administrator' || Object.values(callers).some(Boolean)
}

function describeRelation(catalog: Catalog, relation: Relation, viewer: Viewer): object {
  const columns = relation.columns.filter((column) => viewer === 'administrator' || column.callersMaySelect)
  const relationships = [...relation.relationships.values()].filter(({ target }) => {
    const related = catalog.relations.get(target)
    return related !== undefined && isVisible(related, viewer)
  })
  return {
    schema: relation.schema,
    name: relation.name,
    collection: relation.collection,
    kind: relation.kind,
    ...(relation.comment === undefined ? {} : { comment: relation.comment }),
    columns: columns.map((column) => describeColumn(relation, column)),
    primaryKey: relation.primaryKey.length === 0 ? null : relation.primaryKey.map(({ name }) => name),
    ...unlessEmpty('uniqueKeys', relation.uniqueKeys),
    ...unlessEmpty('foreignKeys', relation.foreignKeys.map(describeForeignKey)),
    ...unlessEmpty(
      'relationships',
      relationships.map((relationship) => describeRelationship(catalog, relation, relationship)),
    ),
    rlsEnabled: relation.rlsEnabled,
    ...(viewer === 'administrator' ? describeInternals(relation) : {}),
  }
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

function describeColumn(relation: Relation, column: Column): object {
  const { type } = column
  const isSpatial = type.base === 'geometry' || type.base === 'geography'
  return {
    name: column.name,
    position: column.position,
    type: column.typeName,
    jsonType: type.json,
    nullable: column.nullable,
    ...(column.default === undefined ? {} : { default: column.default }),
    ...(column.identity === undefined ? {} : { identity: column.identity }),
    ...(column.isGenerated ? { isGenerated: true } : {}),
    ...(column.comment === undefined ? {} : { comment: column.comment }),
    isPrimaryKey: relation.primaryKey.includes(column),
    isGeometry: isSpatial,
    isGeography: type.base === 'geography',
    isVector: type.base === 'vector',
    ...(type.enumLabels === undefined ? {} : { enumValues: type.enumLabels }),
  }
}

function describeForeignKey(key: Relation['foreignKeys'][number]): object {
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

function describeRelationship(catalog: Catalog, relation: Relation, relationship: Relationship): object {
  const target = catalog.relations.get(relationship.target)
  return {
    name: relationship.constraint,
    type: relationship.kind,
    fromSchema: relation.schema,
    fromTable: relation.name,
    fromColumns: relationship.pairs.map(({ from }) => from),
    toSchema: target?.schema,
    toTable: target?.name,
    toColumns: relationship.pairs.map(({ to }) => to),
    fieldName: relationship.name,
  }
}

function describeFunction(item: DatabaseFunction): object {
  return {
    schema: item.schema,
    name: item.name,
    ...(item.comment === undefined ? {} : { comment: item.comment }),
    parameters:
      item.parameters.length === 0
        ? null
        : item.parameters.map(({ name, type, isVariadic }, index) => ({
            name,
            type,
            position: index + 1,
            ...(isVariadic ? { isVariadic } : {}),
          })),
    returnType: item.returnType,
    returnsSet: item.returnsSet,
  }
}

function unlessEmpty(name: string, items: readonly object[]): object {
  return items.length === 0 ? {} : { [name]: items }
}
