import { parseColumnTags, type TextFormat } from '../../../database/catalog/column-tags.ts'
import type {
  Catalog,
  Column,
  ColumnType,
  DatabaseFunction,
  Parameter,
  Relation,
  Relationship,
} from '../../../database/catalog/model.ts'
import { printEnum, printName, printText, printType } from './column-types.ts'
import { type FunctionComment, type MarkedValues, parseFunctionComment } from './function-comments.ts'
import { printFunctions, type TypedRoute } from './print-functions.ts'
import type { ViewColumns } from './view-origins.ts'

const head = `// Made by \`basalt types\` from the database; changes by hand are lost.

/** An int8 or a numeric: a number where one has all of its digits, else the digits. \`BigInt(value)\` takes both. */
export type Exact = number | string
export type ExactInput = number | string | bigint
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
/** GeoJSON (RFC 7946). */
export interface Geometry {
  type: string
  coordinates?: unknown
  geometries?: Geometry[]
}
`

const tail = `
type Tables = Database['tables']
export type Row<T extends keyof Tables> = Tables[T]['Row']
export type Insert<T extends keyof Tables> = Tables[T]['Insert']
export type Update<T extends keyof Tables> = Tables[T]['Update']
`

/**
 * Prints the types of the collections, procedures and functions, as `@basaltdb/client` uses them. Pure: the same for the same
 * catalog.
 */
export function printDatabase(
  catalog: Catalog,
  views: ViewColumns,
  routes: readonly TypedRoute[] = [],
): string {
  const relations = inOrder([...catalog.relations.values()], ({ collection }) => collection)
  const tables = relations.map((relation) => printRelation(catalog, relation, views))
  const enums = [...findEnums(catalog)].map(
    ([name, labels]) => `    ${printName(name)}: ${printEnum(labels)}`,
  )
  const procedures = inOrder([...catalog.procedures], ([name]) => name).flatMap(([name, overloads]) =>
    printProcedure(catalog, name, overloads),
  )
  return `${head}
export interface Database {
  tables: {
${tables.join('\n')}
  }
  enums: {
${enums.join('\n')}
  }
  procedures: {
${procedures.join('\n')}
  }${routes.length === 0 ? '' : `\n  functions: {\n${printFunctions(routes).join('\n')}\n  }`}
}
${tail}`
}

function printRelation(catalog: Catalog, relation: Relation, views: ViewColumns): string {
  const isStored = relation.kind === 'table' || relation.kind === 'partitioned_table'
  const isNullable = ({ name, nullable }: Column) =>
    nullable && !(isViewed(relation) && views.isNotNull(relation.schema, relation.name, name))
  const isCount = ({ name }: Column) =>
    isViewed(relation) && views.isCount(relation.schema, relation.name, name)
  const row = relation.columns.map((column) => {
    const type = printValue(column.type, isCount(column))
    return `${printDoc(column)}${printName(column.name)}: ${orNull(type, isNullable(column))}`
  })
  const written = relation.columns.filter(
    ({ identity, isGenerated }) => identity !== 'always' && !isGenerated,
  )
  const writtenAs = (column: Column) => orNull(printType(column.type, 'write'), column.nullable)
  const insert = written.map(
    (column) =>
      `${printDoc(column)}${printName(column.name)}${isOptional(column) ? '?' : ''}: ${writtenAs(column)}`,
  )
  const update = written.map(
    (column) => `${printDoc(column)}${printName(column.name)}?: ${writtenAs(column)}`,
  )
  const key = relation.primaryKey.map((column) => printType(column.type, 'write'))
  const relations = [...relation.relationships.values()]
    .filter(({ target }) => catalog.relations.has(target))
    .map((relationship) => {
      const { name, target, kind } = relationship
      const many = kind === 'one-to-many'
      // The comment has the columns, so that a name with a new meaning changes the file.
      return `${printName(name)}: { table: ${printText(target)}; many: ${many} } // ${printKey(relationship)}`
    })
  return `    ${printName(relation.collection)}: {
      Row: ${block(row)}
      Insert: ${isStored ? block(insert) : 'never'}
      Update: ${isStored ? block(update) : 'never'}
      Key: [${key.join(', ')}]
      Relations: ${block(relations.toSorted())}
    }`
}

const formatNames: Readonly<Record<TextFormat, string>> = {
  color: 'CSS color',
  url: 'URL',
  email: 'E-mail address',
  markdown: 'Markdown',
  file: 'Name of a file in the bucket',
}

/** Prints the kind of a text, which the comment on the column declares. */
function printDoc({ type, comment }: Column): string {
  const { format, bucket } = parseColumnTags(comment)
  if (format === undefined || !type.isText) return ''
  return `/** ${formatNames[format]}${bucket === undefined ? '' : ` \`${bucket}\``}. */ `
}

/** Prints the columns that a relation follows, on one line. */
function printKey({ kind, target, pairs }: Relationship): string {
  const columns = pairs.map(({ from, to }) => (kind === 'one-to-many' ? `${target}.${to}` : from))
  return columns.join(', ').replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
}

function isViewed({ kind }: Relation): boolean {
  return kind === 'view' || kind === 'materialized_view'
}

function isOptional(column: Column): boolean {
  return column.nullable || column.default !== undefined || column.identity !== undefined
}

/** Prints the type of a value that is read. No count has more digits than a number holds. */
function printValue(type: ColumnType, isCount: boolean): string {
  return isCount && type.base === 'int8' && type.element === undefined ? 'number' : printType(type, 'read')
}

function orNull(type: string, isNullable: boolean): string {
  return isNullable ? `${type} | null` : type
}

function block(members: readonly string[]): string {
  if (members.length === 0) return '{}'
  return `{\n${members.map((member) => `        ${member}`).join('\n')}\n      }`
}

/** Prints the overloads of a procedure as a union. An overload that cannot be called by names is left out. */
function printProcedure(catalog: Catalog, name: string, overloads: readonly DatabaseFunction[]): string[] {
  const callable = overloads.filter(
    ({ isPolymorphic, parameters }) => !isPolymorphic && parameters.every((each) => each.name !== ''),
  )
  if (callable.length === 0) return []
  const printed = callable.map((each) => {
    const comment = parseFunctionComment(each.comment)
    return `{ Args: ${printArguments(each, comment.notNull)}; Returns: ${printReturns(catalog, each, comment)} }`
  })
  return [`    ${printName(name)}: ${printed.toSorted().join(' | ')}`]
}

function printArguments({ parameters, isStrict }: DatabaseFunction, notNull: MarkedValues): string {
  if (parameters.length === 0) return 'Record<string, never>'
  const members = parameters.map((parameter) => {
    const { name, type } = parameter
    // A strict function is not called with NULL. Its result would be NULL, whatever the function does.
    const isNullable = !(isStrict || type.isNotNull || notNull.names.has(name))
    return `${printName(name)}${printArgument(parameter, isNullable)}`
  })
  return `{ ${members.join('; ')} }`
}

function printArgument({ type, hasDefault, isVariadic }: Parameter, isNullable: boolean): string {
  return `${hasDefault || isVariadic ? '?' : ''}: ${orNull(printType(type, 'write'), isNullable)}`
}

function printReturns(
  catalog: Catalog,
  { result, returnsSet, returnedRelation }: DatabaseFunction,
  { notNull, count }: FunctionComment,
): string {
  switch (result.kind) {
    case 'void':
      return 'undefined'
    case 'scalar': {
      const isNullable = !(notNull.result || count.result)
      const value = orNull(printValue(result.type, count.result), isNullable)
      if (!returnsSet) return value
      return isNullable ? `(${value})[]` : `${value}[]`
    }
    case 'row': {
      const required = notNull.result ? requiredColumns(catalog, returnedRelation) : new Set()
      const members = result.columns.map(({ name, type }) => {
        const isCount = count.names.has(name)
        const isNullable = !(isCount || notNull.names.has(name) || required.has(name))
        return `${printName(name)}: ${orNull(printValue(type, isCount), isNullable)}`
      })
      const row = `{ ${members.join('; ')} }`
      return returnsSet ? `${row}[]` : orNull(row, !notNull.result)
    }
    case 'record': {
      const row = '{ [column: string]: Json }'
      return returnsSet ? `${row}[]` : orNull(row, !notNull.result)
    }
  }
}

/** Returns the columns that rows of a table always have. A function may return rows that are not in the table. */
function requiredColumns({ relations }: Catalog, oid: string | undefined): ReadonlySet<string> {
  const relation = oid === undefined ? undefined : [...relations.values()].find((each) => each.oid === oid)
  return new Set(relation?.columns.flatMap(({ name, nullable }) => (nullable ? [] : [name])))
}

/** Finds the enums that columns and parameters use, by name. */
function findEnums({ relations, functions }: Catalog): ReadonlyMap<string, readonly string[]> {
  const enums = new Map<string, readonly string[]>()
  const add = (type: ColumnType) => {
    if (type.element !== undefined) add(type.element)
    for (const attribute of type.attributes ?? []) add(attribute.type)
    if (type.enumLabels !== undefined) enums.set(nameOf(type), type.enumLabels)
  }
  for (const { columns } of relations.values()) for (const { type } of columns) add(type)
  for (const { parameters } of functions) for (const { type } of parameters) add(type)
  return new Map(inOrder([...enums], ([name]) => name))
}

/** Returns the name without quotes, and without the schema where a collection would have none. */
function nameOf({ name }: ColumnType): string {
  return name
    .replace(/^public\./, '')
    .replaceAll(/"((?:[^"]|"")*)"/g, (_, quoted: string) => quoted.replaceAll('""', '"'))
}

/** Sorts items in an order that is the same on every machine, whatever its language. */
export function inOrder<Item>(items: readonly Item[], nameOfItem: (item: Item) => string): Item[] {
  return items.toSorted((one, other) => (nameOfItem(one) < nameOfItem(other) ? -1 : 1))
}
