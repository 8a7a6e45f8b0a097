import type { Relation } from '../../../database/catalog/model.ts'
import { describeType } from './column-schema.ts'
import type { DescribedTable } from './described-table.ts'
import { answers, errorResponse, json, parameter, reference } from './document-parts.ts'
import { listParametersOf } from './list-parameters.ts'

/** Operations on a collection: one function each. */

function operation({ name, label }: DescribedTable, action: string, summary: string): object {
  return {
    operationId: `${action}_${name}`,
    tags: [label],
    summary: `${summary} ${label}`,
    security: [{ bearer: [] }],
  }
}

export function list(table: DescribedTable): object {
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

export function get(table: DescribedTable): object {
  return {
    ...operation(table, 'get', 'Get a record of'),
    parameters: recordParameters(table),
    responses: answers('200', 'The record.', reference(`${table.name}.record`)),
  }
}

export function create(table: DescribedTable): object {
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

export function update(table: DescribedTable): object {
  return {
    ...operation(table, 'update', 'Change the given columns of a record of'),
    parameters: recordParameters(table),
    requestBody: { required: true, content: json(reference(`${table.name}.update`)) },
    responses: answers('200', 'The whole record.', reference(`${table.name}.record`)),
  }
}

export function remove(table: DescribedTable): object {
  return {
    ...operation(table, 'delete', 'Delete a record of'),
    responses: { '204': { description: 'No content.' }, default: errorResponse },
  }
}

export function updateAll(table: DescribedTable): object {
  return {
    ...operation(table, 'updateAll', 'Change the given columns of all records that a filter finds in'),
    parameters: [...bulkParameters, ...recordParameters(table)],
    requestBody: { required: true, content: json(reference(`${table.name}.update`)) },
    responses: answers('200', 'How many there were.', counted(table, 'updated')),
  }
}

export function deleteAll(table: DescribedTable): object {
  return {
    ...operation(table, 'deleteAll', 'Delete all records that a filter finds in'),
    parameters: [...bulkParameters, ...recordParameters(table)],
    responses: answers('200', 'How many there were.', counted(table, 'deleted')),
  }
}

const bulkParameters = ['writtenFilter', 'expect', 'return'].map(parameter)

function counted({ name }: DescribedTable, member: string): object {
  return {
    type: 'object',
    required: [member],
    properties: {
      [member]: { type: 'integer' },
      items: { type: 'array', items: reference(`${name}.record`) },
    },
  }
}

export function batch(table: DescribedTable): object {
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

function recordParameters({ relationships }: DescribedTable): object[] {
  if (relationships.length === 0) return [parameter('fields')]
  const names = relationships.map(({ name }) => `\`${name}\``).join(', ')
  const description = `Related records to add, comma-separated, nested by dots: ${names}.`
  return [parameter('fields'), { name: 'expand', in: 'query', description, schema: { type: 'string' } }]
}

export function idParameter({ primaryKey }: Relation): object {
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
