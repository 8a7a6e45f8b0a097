import { STATUS_CODES } from 'node:http'
import { describeType } from './column-schema.ts'
import type { DescribedTable } from './described-table.ts'
import {
  type Entry,
  json,
  type Operation,
  type Parameter,
  reference,
  type StaticDocument,
} from './document-parts.ts'
import { uselessParameters } from './list-parameters.ts'

/** Path of collections in the static document. */
const collectionPath = '/api/collections/{table}'

/** Body and successful responses of an operation that depend on the columns of a table. */
interface TypedParts {
  readonly body?: object
  /** Schemas by status. */
  readonly responses?: Readonly<Record<number, object>>
}

/** Returns the paths of a collection: static operations, with the columns of the table. */
export function pathsOf(document: StaticDocument, table: DescribedTable): Entry[] {
  const { name, relation, hasKey, can } = table
  const path = `/api/collections/${encodeURIComponent(relation.collection)}`
  const record = reference(name)
  const describe = (suffix: string, method: string, parts: TypedParts = {}): object => ({
    [method]: describeOperation(
      document,
      table,
      document.paths[`${collectionPath}${suffix}`]?.[method],
      parts,
    ),
  })
  const create = { body: reference(`${name}Create`), responses: { 200: record, 201: record } }
  const body = reference(`${name}Update`)
  const updateAll = { body, responses: { 200: reference(`${name}UpdateResult`) } }
  const deleteAll = { responses: { 200: reference(`${name}DeleteResult`) } }
  const methods = {
    ...describe('', 'get', { responses: { 200: reference(`${name}Page`) } }),
    ...(can.create ? describe('', 'post', create) : {}),
    ...(can.updateAll ? describe('', 'patch', updateAll) : {}),
    ...(can.deleteAll ? describe('', 'delete', deleteAll) : {}),
  }
  const ofRecord = {
    parameters: [idParameter(table)],
    ...describe('/{id}', 'get', { responses: { 200: record } }),
    ...(can.update ? describe('/{id}', 'patch', { body, responses: { 200: record } }) : {}),
    ...(can.delete ? describe('/{id}', 'delete') : {}),
  }
  const batch = describe('/batch', 'post', { body: reference(`${name}Batch`) })
  return [
    [path, methods],
    ...(hasKey ? [[`${path}/{id}`, ofRecord] as const] : []),
    ...(can.create || can.update || can.delete ? [[`${path}/batch`, batch] as const] : []),
  ]
}

function describeOperation(
  { components }: StaticDocument,
  table: DescribedTable,
  operation: Operation | undefined,
  { body, responses = {} }: TypedParts,
): object {
  if (operation === undefined) throw new Error('the document lacks an operation of collections')
  // Descriptions belong to the static operations.
  const { operationId, parameters = [], requestBody, description: _, ...rest } = operation
  const useless = new Set([...uselessParameters(table.columns), 'table', 'id'])
  const typed = Object.entries(responses).map(
    ([status, schema]) =>
      [status, { description: STATUS_CODES[status] ?? 'Response', content: json(schema) }] as const,
  )
  return {
    ...rest,
    operationId: operationId.replace(/^\w+/, lowerFirst(table.name)),
    summary: `${operation.summary} (${table.label})`,
    tags: [table.label],
    parameters: parameters.flatMap((parameter) => {
      const { name = '' } = resolve(components.parameters, parameter)
      if (name === 'expand') return expandParameter(table)
      return useless.has(name) ? [] : [parameter]
    }),
    ...(requestBody === undefined
      ? {}
      : { requestBody: body === undefined ? requestBody : { required: true, content: json(body) } }),
    responses: { ...operation.responses, ...Object.fromEntries(typed) },
  }
}

function lowerFirst(name: string): string {
  return `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`
}

function resolve(shared: StaticDocument['components']['parameters'], parameter: Parameter): Parameter {
  const name = parameter.$ref?.replace('#/components/parameters/', '')
  return name === undefined ? parameter : (shared[name] ?? parameter)
}

function expandParameter({ relationships }: DescribedTable): object[] {
  if (relationships.length === 0) return []
  const names = relationships.map(({ name }) => `\`${name}\``).join(', ')
  const description = `Related records to add, comma-separated, nested by dots: ${names}.`
  return [{ name: 'expand', in: 'query', description, schema: { type: 'string' } }]
}

function idParameter({ relation: { primaryKey } }: DescribedTable): object {
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
