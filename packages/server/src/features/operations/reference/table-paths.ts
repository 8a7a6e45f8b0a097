import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import {
  describeColumnSchema,
  describeType,
  geoJsonSchema,
  isRequired,
  isWritable,
  type JsonSchema,
} from './column-schema.ts'
import { nameComponents } from './component-names.ts'
import { listParametersOf } from './list-parameters.ts'
import { sharedParameters, sharedSchemas } from './shared-components.ts'

/** Who reads the document: a signed-in user what the role of callers has privileges on, an administrator everything. */
export type Audience = 'caller' | 'administrator'

/** What the document has beside the routes that every server has. */
export interface TablePaths {
  readonly tags: readonly object[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<'schemas' | 'parameters' | 'responses', object>>
  /** Collections that are served and not described: there are too many. */
  readonly omitted: number
}

/** More make a document of several megabytes that no tool reads any more. */
const relationLimit = 1000

/** Describes the collections an audience may use as OpenAPI 3.1. Pure. */
export function describeTables(catalog: Catalog, audience: Audience, errorSchema: object): TablePaths {
  const served = [...catalog.relations.values()].filter((each) => mayRead(each, audience))
  const relations = served.slice(0, relationLimit)
  const names = nameComponents(relations.map(({ collection }) => collection))
  const tables = relations.map((relation) => viewTable(catalog, relation, audience, names))
  return {
    tags: tables.map(tagOf),
    paths: Object.fromEntries(tables.flatMap(pathsOf)),
    components: {
      schemas: {
        ...sharedSchemas,
        ...(catalog.extensions.has('postgis') ? { GeoJSON: geoJsonSchema } : {}),
        ...Object.fromEntries(tables.flatMap(schemasOf)),
      },
      parameters: sharedParameters,
      responses: {
        Error: { description: 'An error.', content: json(errorSchema) },
      },
    },
    omitted: served.length - relations.length,
  }
}

function mayRead({ callers }: Relation, audience: Audience): boolean {
  return audience === 'administrator' || callers.select
}

/** A collection as far as the audience may use it. */
interface Table {
  readonly relation: Relation
  /** In names of components and operations. */
  readonly name: string
  /** In words for people; no name of a static tag. */
  readonly label: string
  readonly columns: readonly Column[]
  /** Those of {@link columns} that take a value. */
  readonly writable: readonly Column[]
  /** Whether records have an address. */
  readonly hasKey: boolean
  readonly can: Readonly<Record<'create' | 'update' | 'delete' | 'updateAll' | 'deleteAll', boolean>>
  readonly relationships: readonly { readonly name: string; readonly isMany: boolean; readonly to: string }[]
}

function viewTable(
  catalog: Catalog,
  relation: Relation,
  audience: Audience,
  names: ReadonlyMap<string, string>,
): Table {
  const isAdministrator = audience === 'administrator'
  const { kind, collection, primaryKey, callers } = relation
  const sees = (column: Column | undefined) => isAdministrator || column?.callersMaySelect === true
  const columns = relation.columns.filter(sees)
  const writable = columns.filter(isWritable)
  const hasKey = primaryKey.length > 0 && primaryKey.every(sees)
  const isTable = kind === 'table' || kind === 'partitioned_table'
  const may = (action: 'insert' | 'update' | 'delete') => isTable && (isAdministrator || callers[action])
  return {
    relation,
    name: names.get(collection) ?? collection,
    label: `${kind.replaceAll('_', ' ')} ${collection}`,
    columns,
    writable,
    hasKey,
    can: {
      create: may('insert') && writable.length > 0,
      update: may('update') && hasKey && writable.length > 0,
      delete: may('delete') && hasKey,
      updateAll: may('update') && writable.length > 0,
      deleteAll: may('delete'),
    },
    relationships: [...relation.relationships.values()].flatMap(({ name, kind: side, target, pairs }) => {
      const other = catalog.relations.get(target)
      const to = names.get(target)
      const isSeen = pairs.every(
        (pair) => sees(relation.column.get(pair.from)) && sees(other?.column.get(pair.to)),
      )
      return to === undefined || !isSeen ? [] : [{ name, isMany: side === 'one-to-many', to }]
    }),
  }
}

type Entry = readonly [name: string, value: object]

function tagOf({ label, relation: { comment } }: Table): object {
  return { name: label, ...optional('description', comment) }
}

function schemasOf(table: Table): Entry[] {
  const { name, writable, can } = table
  const properties = describeColumns(writable)
  const required = writable.filter(isRequired).map((column) => column.name)
  const schemas: Entry[] = [[`${name}.record`, describeRecord(table)]]
  if (can.create)
    schemas.push([`${name}.create`, { type: 'object', properties, ...optional('required', required) }])
  if (can.updateAll) schemas.push([`${name}.update`, { type: 'object', properties, minProperties: 1 }])
  return schemas
}

function describeRecord({ relation, columns, relationships }: Table): JsonSchema {
  const related = relationships.map(({ name, isMany, to }) => {
    const record = reference(`${to}.record`)
    return [name, isMany ? { type: 'array', items: record } : { anyOf: [record, { type: 'null' }] }] as const
  })
  // A column of this name takes the place of related records.
  const hasExpand = related.length > 0 && !relation.column.has('expand')
  return {
    type: 'object',
    ...optional('description', relation.comment),
    properties: {
      ...describeColumns(columns),
      ...(hasExpand
        ? { expand: { type: 'object', readOnly: true, properties: Object.fromEntries(related) } }
        : {}),
    },
    ...optional(
      'required',
      columns.map(({ name }) => name),
    ),
  }
}

function pathsOf(table: Table): Entry[] {
  const { relation, hasKey, can } = table
  const path = `/api/collections/${encodeURIComponent(relation.collection)}`
  const paths: Entry[] = [
    [
      path,
      {
        get: list(table),
        ...(can.create ? { post: create(table) } : {}),
        ...(can.updateAll ? { patch: updateAll(table) } : {}),
        ...(can.deleteAll ? { delete: deleteAll(table) } : {}),
      },
    ],
  ]
  if (hasKey) {
    paths.push([
      `${path}/{id}`,
      {
        parameters: [idParameter(relation)],
        get: get(table),
        ...(can.update ? { patch: update(table) } : {}),
        ...(can.delete ? { delete: remove(table) } : {}),
      },
    ])
  }
  if (can.create || can.update || can.delete) paths.push([`${path}/batch`, { post: batch(table) }])
  return paths
}

function operation({ name, label }: Table, action: string, summary: string): object {
  return {
    operationId: `${action}_${name}`,
    tags: [label],
    summary: `${summary} ${label}`,
    security: [{ bearer: [] }],
  }
}

function list(table: Table): object {
  const items = { type: 'array', items: reference(`${table.name}.record`) }
  return {
    ...operation(table, 'list', 'List records of'),
    parameters: [
      ...['filter', 'sort', 'page', 'perPage', 'cursor', 'skipTotal', 'total'].map(parameter),
      ...recordParameters(table),
      ...listParametersOf(table.columns).map(parameter),
    ],
    responses: answers('200', 'A page of records.', {
      type: 'object',
      properties: { items },
      anyOf: [reference('Page'), reference('CursorPage'), reference('AggregateResults')],
    }),
  }
}

function get(table: Table): object {
  return {
    ...operation(table, 'get', 'Get a record of'),
    parameters: recordParameters(table),
    responses: answers('200', 'The record.', reference(`${table.name}.record`)),
  }
}

function create(table: Table): object {
  return {
    ...operation(table, 'create', 'Create a record of'),
    parameters: [...['onConflict', 'onConflictAction'].map(parameter), ...recordParameters(table)],
    requestBody: { required: true, content: json(reference(`${table.name}.create`)) },
    responses: {
      ...answers(
        '200',
        'The record with the same key, with `onConflict`.',
        reference(`${table.name}.record`),
      ),
      ...answers('201', 'The record, with its defaults.', reference(`${table.name}.record`)),
    },
  }
}

function update(table: Table): object {
  return {
    ...operation(table, 'update', 'Change the given columns of a record of'),
    parameters: recordParameters(table),
    requestBody: { required: true, content: json(reference(`${table.name}.update`)) },
    responses: answers('200', 'The whole record.', reference(`${table.name}.record`)),
  }
}

function remove(table: Table): object {
  return {
    ...operation(table, 'delete', 'Delete a record of'),
    responses: { '204': { description: 'No content.' }, default: errorResponse },
  }
}

function updateAll(table: Table): object {
  return {
    ...operation(table, 'updateAll', 'Change the given columns of all records that a filter finds in'),
    parameters: [...bulkParameters, ...recordParameters(table)],
    requestBody: { required: true, content: json(reference(`${table.name}.update`)) },
    responses: answers('200', 'How many there were.', counted(table, 'updated')),
  }
}

function deleteAll(table: Table): object {
  return {
    ...operation(table, 'deleteAll', 'Delete all records that a filter finds in'),
    parameters: [...bulkParameters, ...recordParameters(table)],
    responses: answers('200', 'How many there were.', counted(table, 'deleted')),
  }
}

const bulkParameters = ['writtenFilter', 'expect', 'return'].map(parameter)

function counted({ name }: Table, member: string): object {
  return {
    type: 'object',
    required: [member],
    properties: {
      [member]: { type: 'integer' },
      items: { type: 'array', items: reference(`${name}.record`) },
    },
  }
}

function batch(table: Table): object {
  const { name, can } = table
  const id = { type: ['string', 'integer'] }
  const member = (
    method: string,
    members: Readonly<Record<string, object>>,
    options: Readonly<Record<string, object>> = {},
  ) => ({
    type: 'object',
    required: ['method', ...Object.keys(members)],
    properties: { method: { const: method }, ...members, ...options },
  })
  const names = { type: ['string', 'array'], items: { type: 'string' } }
  const conflict = { onConflict: names, onConflictAction: { enum: ['update', 'ignore'] } }
  const operations = [
    ...(can.create ? [member('create', { body: reference(`${name}.create`) }, conflict)] : []),
    ...(can.update ? [member('update', { id, body: reference(`${name}.update`) })] : []),
    ...(can.delete ? [member('delete', { id })] : []),
  ]
  return {
    ...operation(table, 'batch', 'Run up to 1000 operations in one transaction on'),
    requestBody: {
      required: true,
      content: json({
        type: 'object',
        required: ['operations'],
        properties: { operations: { type: 'array', maxItems: 1000, items: { oneOf: operations } } },
      }),
    },
    responses: answers('200', 'What each operation did.', reference('BatchResults')),
  }
}

function recordParameters({ relationships }: Table): object[] {
  if (relationships.length === 0) return [parameter('fields')]
  const names = relationships.map(({ name }) => `\`${name}\``).join(', ')
  const description = `Related records to add, comma-separated, nested by dots: ${names}.`
  return [parameter('fields'), { name: 'expand', in: 'query', description, schema: { type: 'string' } }]
}

function idParameter({ primaryKey }: Relation): object {
  const [first, ...more] = primaryKey
  const isSingle = first !== undefined && more.length === 0
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: isSingle
      ? `The primary key, \`${first.name}\`.`
      : `The values of the primary key joined by commas: ${primaryKey.map(({ name }) => `\`${name}\``).join(', ')}.`,
    schema: isSingle ? describeType(first.type) : { type: 'string' },
  }
}

/** Built from entries: a column may be called `__proto__`. */
function describeColumns(columns: readonly Column[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(columns.map((column) => [column.name, describeColumnSchema(column)]))
}

const errorResponse = { $ref: '#/components/responses/Error' }

function answers(status: string, description: string, schema: object): object {
  return { [status]: { description, content: json(schema) }, default: errorResponse }
}

function json(schema: object): object {
  return { 'application/json': { schema } }
}

function reference(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

function parameter(name: string): object {
  return { $ref: `#/components/parameters/${name}` }
}

/** A member of an object; none for what is undefined or an empty list. */
function optional(name: string, value: string | readonly string[] | undefined): object {
  return value === undefined || value.length === 0 ? {} : { [name]: value }
}
