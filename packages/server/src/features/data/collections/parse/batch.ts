import type { Relation } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import { requireJson } from '../../../../http/requests/body.ts'
import { AppError } from '../../../../lib/errors.ts'
import { isObject } from '../../../../lib/json.ts'
import { sliceArray, sliceObject } from '../../../../lib/json-slices.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { type Precondition, parsePrecondition } from '../access/precondition.ts'
import { collectionErrors } from '../errors.ts'
import { quoteName } from './names.ts'
import { type RecordBody, readRecord } from './record-body.ts'
import { parseBodyId } from './record-id.ts'
import { type ConflictQuery, parseConflict } from './write-query.ts'

/** Batch operation with its collection resolved. */
export type BatchOperation = {
  readonly index: number
  readonly relation: Relation
  /** Condition on the record as it is when the operation runs. */
  readonly precondition?: Precondition | undefined
} & (
  | {
      readonly method: 'create'
      readonly body: RecordBody
      /** Conflict handling. Undefined: a record with the same key is an error. */
      readonly conflict: ConflictQuery | undefined
    }
  | { readonly method: 'update'; readonly id: readonly string[]; readonly body: RecordBody }
  | { readonly method: 'delete'; readonly id: readonly string[] }
)

/** Operations of a batch. */
export interface ParsedBatch {
  readonly operations: BatchOperation[]
  /** True if the results have entity tags. */
  readonly isTagged: boolean
}

const operationLimit = 1000

const operationMembers = [
  'method',
  'id',
  'body',
  'table',
  'ifMatch',
  'onConflict',
  'on_conflict',
  'onConflictAction',
]

/** Function that finds the collection of an operation: by the path, or by the operation's own `table`. */
export type FindRelation = (table: unknown) => Relation

/**
 * Parses `{operations: [{method, id?, body?, table?, ifMatch?, onConflict?, onConflictAction?}], etags?}`.
 *
 * @throws AppError with `operation` where an operation is to blame
 */
export function parseBatch(json: string, findRelation: FindRelation): ParsedBatch {
  const value = json.trim() === '' ? undefined : requireJson(json)
  const operations = isObject(value) ? value.operations : undefined
  if (!Array.isArray(operations)) throw collectionErrors.invalidBatch('operations: expected an array')
  if (operations.length === 0) throw collectionErrors.invalidBatch('operations array is empty')
  if (operations.length > operationLimit) {
    throw collectionErrors.invalidBatch(`too many operations: max ${operationLimit}`)
  }
  const isTagged = readEtags(value)
  const texts = sliceArray(sliceObject(json).get('operations') ?? '[]')
  const parsed = operations.map((operation: unknown, index) => {
    try {
      if (isObject(operation)) requireKnownMembers(operation, operationMembers)
      return parseOperation(operation, texts[index] ?? '', index, findRelation)
    } catch (error) {
      throw error instanceof AppError ? refuseOperation(error, { index, method: methodOf(operation) }) : error
    }
  })
  return { operations: parsed, isTagged }
}

/** Returns whether the results have entity tags. They have none unless requested, which many clients do not need. */
function readEtags(value: unknown): boolean {
  if (!isObject(value)) return false
  requireKnownMembers(value, ['operations', 'etags'])
  const { etags = false } = value
  if (typeof etags === 'boolean') return etags
  throw collectionErrors.invalidBatch('etags: expected true or false')
}

/** Returns the error with the operation that caused it. */
export function blameOperation(error: AppError, { index, method }: BlamedOperation): AppError {
  return error.with({ members: { operation: { index, method } } })
}

interface BlamedOperation {
  readonly index: number
  /** Method as sent; empty if it was not text. */
  readonly method: string
}

/** Returns the error of an operation that cannot be run at all. */
export function refuseOperation(error: AppError, operation: BlamedOperation): AppError {
  const message = `operation[${operation.index}]: ${error.message}`
  return blameOperation(new AppError(error.kind, error.status, message, error.extras), operation)
}

function methodOf(operation: unknown): string {
  return isObject(operation) && typeof operation.method === 'string' ? operation.method : ''
}

function parseOperation(
  operation: unknown,
  text: string,
  index: number,
  findRelation: FindRelation,
): BatchOperation {
  if (!isObject(operation)) throw collectionErrors.invalidBatch('expected an object')
  const { method, id, body, table } = operation
  if (method !== 'create' && method !== 'update' && method !== 'delete') {
    // The text is copied as sent, because the value may be nested too deeply to be serialized again.
    const written = (method ?? '') === '' ? '""' : sliceObject(text).get('method')
    throw collectionErrors.invalidBatch(`unknown method ${written} (expected create, update, or delete)`)
  }
  const relation = findRelation(table)
  const texts = sliceObject(text)
  const conflict = readConflict(operation)
  const precondition = readPrecondition(operation)
  if (method === 'create') {
    if (precondition !== undefined && conflict?.action !== 'update') {
      throw collectionErrors.invalidBatch('ifMatch: expected with update, delete, or onConflict')
    }
    return { index, relation, method, body: readBody(relation, method, body, texts), conflict, precondition }
  }
  if (conflict !== undefined) throw collectionErrors.invalidBatch('onConflict: expected only with create')
  const values = parseBodyId(relation, readId(method, id, texts))
  if (method === 'delete') return { index, relation, method, id: values, precondition }
  return { index, relation, method, id: values, body: readBody(relation, method, body, texts), precondition }
}

/**
 * Rejects unknown members: with a misspelt `onConflict` the operation would mean something else. Names starting with
 * `_` are ignored.
 */
function requireKnownMembers(value: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name) && !name.startsWith('_'))
  if (unknown === undefined) return
  throw collectionErrors.invalidBatch(`unknown member "${unknown}"${suggestion(unknown, known)}`)
}

function readPrecondition({ ifMatch }: Readonly<Record<string, unknown>>): Precondition | undefined {
  if (ifMatch === undefined) return undefined
  return parsePrecondition(typeof ifMatch === 'string' ? ifMatch : '', 'ifMatch')
}

function readBody(
  relation: Relation,
  method: 'create' | 'update',
  body: unknown,
  texts: ReadonlyMap<string, string>,
): RecordBody {
  if (body === undefined || body === null) throw collectionErrors.invalidBatch(`${method} requires a body`)
  return readRecord(relation, texts.get('body') ?? '', body, method)
}

/** Reads the column names of `onConflict`, written as in the URL of a create or as an array. */
function readConflict(operation: Readonly<Record<string, unknown>>): ConflictQuery | undefined {
  return parseConflict({
    onConflict: readNames(operation.onConflict),
    on_conflict: readNames(operation.on_conflict),
    onConflictAction: readText('onConflictAction', operation.onConflictAction),
  })
}

function readNames(value: unknown): string | undefined {
  if (!Array.isArray(value)) return readText('onConflict', value)
  return value.map((name) => quoteName(readText('onConflict', name) ?? '')).join()
}

function readText(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw collectionErrors.invalidBatch(
    `${name}: expected ${name === 'onConflict' ? 'the names of columns' : 'update or ignore'}`,
  )
}

/**
 * Reads the id of an operation. Numbers keep their digits as written: an int8 has more digits than a JavaScript
 * number.
 */
function readId(method: ChangeAction, id: unknown, texts: ReadonlyMap<string, string>): string {
  if (typeof id === 'number') return texts.get('id') ?? String(id)
  if (typeof id === 'string' && id !== '') return id
  throw collectionErrors.invalidBatch(
    id === undefined || id === null || id === ''
      ? `${method} requires an id`
      : 'id: expected a string or a number',
  )
}

/** Returns the lookup of a batch on one collection. An operation names that collection or none. */
export function tableOf(relation: Relation): FindRelation {
  return (table) => {
    if (table === undefined || table === relation.collection) return relation
    throw collectionErrors.invalidBatch(
      `table: expected "${relation.collection}" or none; operations on several tables go to /api/batch`,
    )
  }
}

/** Returns the lookup of a batch over several collections. Each operation names its own. */
export function tableOfEach(find: (table: string) => Relation): FindRelation {
  return (table) => {
    if (typeof table === 'string') return find(table)
    throw collectionErrors.invalidBatch('table: expected the name of a collection')
  }
}
