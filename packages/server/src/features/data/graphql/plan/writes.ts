import { type ArgumentNode, visit } from 'graphql'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import {
  type BulkPlan,
  type ColumnChange,
  type DocumentWrite,
  type InsertedRow,
  planUpsert,
  planWholeRecord,
  type RecordBody,
  type RecordPlan,
  type RowsPlan,
  readRecord,
  type UpsertPlan,
} from '../../collections/index.ts'
import { graphqlErrors } from '../errors.ts'
import { collectFields, type FieldContext, type SelectedField, selectionsOf } from './fields.ts'
import { planWriteCall } from './functions.ts'
import { objectTypeOf, planSelectedRecord } from './selection.ts'
import type { PlanTools } from './tools.ts'
import { planWhere } from './where.ts'

/** Objects of one insert. */
const objectLimit = 1000
/** Records of an update or delete in the estimated cost, which cannot know how many its filter finds. */
const estimatedChanges = 1000

/** Write of a root field, and what its response selects. */
export interface PlannedWrite {
  readonly write: DocumentWrite
  /** Fields of the response; none where the write returns its value itself. */
  readonly selected: readonly SelectedField[]
  readonly typeName: string
}

type Input = Readonly<Record<string, unknown>>

/**
 * Plans a root field of a mutation.
 *
 * @param bulkLimit records that one update or delete may change
 * @throws AppError invalid_graphql_argument, and those of a record's values
 */
export function planWrite(
  tools: PlanTools,
  field: SelectedField,
  bulkLimit: number,
): PlannedWrite | undefined {
  const { meaning } = field
  if (meaning?.kind === 'call')
    return { write: planWriteCall(tools, meaning, field), selected: [], typeName: '' }
  if (meaning?.kind !== 'insert' && meaning?.kind !== 'update' && meaning?.kind !== 'delete') return undefined
  const { relation, kind } = meaning
  const type = objectTypeOf(field)
  const selected = collectFields(tools.fields, type, selectionsOf(field))
  const write: DocumentWrite =
    kind === 'insert'
      ? planInsert(tools, relation, field, selected)
      : planBulk(tools, relation, field, {
          action: kind,
          answer: planReturning(tools, relation, selected, Math.min(bulkLimit, estimatedChanges)),
          limit: bulkLimit,
        })
  return { write, selected, typeName: type.name }
}

function planInsert(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
  selected: readonly SelectedField[],
): DocumentWrite {
  const rows = planRows(tools, relation, field)
  return { kind: 'insert', relation, rows, answer: planReturning(tools, relation, selected, rows.length) }
}

/**
 * Plans the record of each `returning`; of several, an object with each of them.
 *
 * @param records number that the write returns, for the cost
 */
function planReturning(
  tools: PlanTools,
  relation: Relation,
  selected: readonly SelectedField[],
  records: number,
): RecordPlan | undefined {
  const returning = selected.filter(({ meaning }) => meaning?.kind === 'returning')
  const [first] = returning
  if (first === undefined) return undefined
  const whole = planWholeRecord(relation, tools.reader)
  if (returning.length === 1) return { ...whole, ...planSelectedRecord(tools, relation, first, records) }
  return {
    ...whole,
    selection: returning.map((field) => ({
      key: field.key,
      kind: 'self',
      record: planSelectedRecord(tools, relation, field, records),
    })),
  }
}

function planRows(tools: PlanTools, relation: Relation, { args }: SelectedField): readonly InsertedRow[] {
  const objects = args.objects as readonly Input[]
  if (objects.length > objectLimit) {
    throw graphqlErrors.invalidGraphqlArgument('objects', `expected at most ${objectLimit} objects`)
  }
  const conflict = args.on_conflict as OnConflict | null | undefined
  return objects.map((object) => {
    const body = toBody(tools, relation, object, 'create')
    return { body, conflict: conflict == null ? undefined : planConflict(tools, relation, conflict, body) }
  })
}

interface OnConflict {
  /** Columns of the constraint. */
  readonly constraint: readonly string[]
  readonly update_columns?: readonly string[] | null
}

function planConflict(
  tools: PlanTools,
  relation: Relation,
  { constraint, update_columns: names }: OnConflict,
  body: RecordBody,
): UpsertPlan {
  const missing = constraint.find(
    (name) => !relation.column.get(name)?.isGenerated && !body.columns.some((column) => column.name === name),
  )
  if (missing !== undefined) {
    throw graphqlErrors.invalidGraphqlArgument(
      'on_conflict',
      `expected each object to have a value for '${missing}'`,
    )
  }
  const isUpdate = names != null && names.length > 0
  const query = { columns: constraint, action: isUpdate ? 'update' : 'ignore' } as const
  const plan = planUpsert(relation, query, body.columns)
  if (!isUpdate) return plan
  const columns = tools.names.get(relation)?.columns
  const updated = names.map((name) => {
    const column = columns?.get(name)
    if (column === undefined || column.isGenerated || column.identity === 'always') {
      throw graphqlErrors.invalidGraphqlArgument('update_columns', `unknown column ${name}`)
    }
    return column
  })
  return { ...plan, updated: [...new Set(updated)] }
}

const changeArguments: readonly (readonly [string, ColumnChange | undefined])[] = [
  ['_set', undefined],
  ['_inc', 'increment'],
  ['_append', 'append'],
  ['_prepend', 'prepend'],
]

function planBulk(
  tools: PlanTools,
  relation: Relation,
  field: SelectedField,
  { action, answer, limit }: Pick<BulkPlan, 'action' | 'answer' | 'limit'>,
): DocumentWrite {
  const { body, changes } =
    action === 'update' ? readChanges(tools, relation, field) : { body: noBody, changes: new Map() }
  const plan: BulkPlan = {
    action,
    rows: planChangedRows(tools, relation, field),
    record: planWholeRecord(relation, tools.reader),
    answer,
    columns: body.columns,
    changes,
    limit,
  }
  return { kind: 'bulk', plan, body }
}

/**
 * Plans the rows that an update or delete changes. GraphQL drops members with an absent variable, and JSON those without a
 * value. Such a filter would find more records than intended, so it is rejected; `{}` alone means all records.
 *
 * @throws AppError invalid_graphql_argument, invalid_filter
 */
function planChangedRows(tools: PlanTools, relation: Relation, { nodes, args }: SelectedField): RowsPlan {
  for (const argument of nodes[0]?.arguments ?? []) {
    if (argument.name.value === 'where') requireVariables(argument, tools.fields)
  }
  const filter = planWhere(tools, relation, args.where as Input, false)
  return { relation, conditions: [{ kind: 'filter', filter }] }
}

function requireVariables(argument: ArgumentNode, { variables }: FieldContext): void {
  visit(argument, {
    Variable({ name }) {
      if (Object.hasOwn(variables, name.value)) return
      throw graphqlErrors.invalidGraphqlArgument('where', `expected a value of the variable $${name.value}`)
    },
  })
}

const noBody: RecordBody = { json: '', columns: [] }

function readChanges(
  tools: PlanTools,
  relation: Relation,
  { args }: SelectedField,
): { readonly body: RecordBody; readonly changes: ReadonlyMap<Column, ColumnChange> } {
  const values: Record<string, unknown> = {}
  const changes = new Map<Column, ColumnChange>()
  const argumentOf = new Map<string, string>()
  for (const [argument, change] of changeArguments) {
    const input = (args[argument] ?? {}) as Input
    for (const [name, value] of Object.entries(input)) {
      const column = findWritten(tools, relation, name)
      if (column === undefined) continue
      const other = argumentOf.get(name)
      if (other !== undefined) {
        throw graphqlErrors.invalidGraphqlArgument(
          argument,
          `column '${name}' appears in both ${other} and ${argument}`,
        )
      }
      argumentOf.set(name, argument)
      requireChangeable(argument, change, name, column)
      if (change !== undefined && value === null) {
        throw graphqlErrors.invalidGraphqlArgument(
          argument,
          `expected a value for column '${name}', not null`,
        )
      }
      values[name] = value
      if (change !== undefined) changes.set(column, change)
    }
  }
  if (argumentOf.size === 0) {
    throw graphqlErrors.invalidGraphqlArgument(
      'update',
      'at least one of _set, _inc, _append, _prepend must be provided',
    )
  }
  return { body: toBody(tools, relation, values, 'update'), changes }
}

const numbers: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'money'])

function requireChangeable(
  argument: string,
  change: ColumnChange | undefined,
  name: string,
  { type }: Column,
): void {
  if (change === undefined) return
  const problem =
    change === 'increment'
      ? !numbers.has(type.base) && `column '${name}' is not numeric, cannot use ${argument}`
      : type.base !== 'jsonb' && `column '${name}' is not json, cannot use ${argument}`
  if (problem !== false) throw graphqlErrors.invalidGraphqlArgument(argument, problem)
}

/** Returns the input as a record of the collection, under the names of its columns. */
function toBody(tools: PlanTools, relation: Relation, input: Input, action: 'create' | 'update'): RecordBody {
  const entries = Object.entries(input).flatMap(([name, value]) => {
    const column = findWritten(tools, relation, name)
    return column === undefined ? [] : [[column.name, value] as const]
  })
  const json = JSON.stringify(Object.fromEntries(entries))
  return readRecord(relation, json, Object.fromEntries(entries), action)
}

/** Returns the column of an input that has the name in the schema. */
function findWritten({ names }: PlanTools, relation: Relation, name: string): Column | undefined {
  const own = names.get(relation)
  return own?.columns.get(name) ?? own?.hidden.get(name)
}
