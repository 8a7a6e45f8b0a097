import type { Relation } from '../../../../database/catalog/model.ts'
import {
  planOrder,
  type ReadCall,
  relationsOfRows,
  relationsOfSelected,
  type WriteCall,
} from '../../collections/index.ts'
import {
  compileSelectedCall,
  explainSelectedCall,
  type ResultPage,
  relationOfResult,
  type SelectedCall,
  type SelectedResult,
  targetOf,
} from '../../procedures/index.ts'
import { graphqlErrors } from '../errors.ts'
import type { CallMeaning } from '../schema/meaning.ts'
import type { SelectedField } from './fields.ts'
import { readOrder, requireOwnColumns } from './order.ts'
import { listLimit, planRowsOf, planSelectedRecord, readPage } from './selection.ts'
import type { PlanTools } from './tools.ts'

/** Plans a call that runs in a read-only transaction. */
export function planReadCall(tools: PlanTools, meaning: CallMeaning, field: SelectedField): ReadCall {
  const { call, relations } = planCall(tools, meaning, field)
  const refuseWrite = () => graphqlErrors.functionWrites(meaning.called.procedure)
  return {
    kind: 'call',
    query: compileSelectedCall(call),
    relations,
    explain: (deps, caller, failure, isOnly) =>
      explainSelectedCall(deps, tools.catalog, call, { caller, failure, refuseWrite, isOnly }),
  }
}

export function planWriteCall(tools: PlanTools, meaning: CallMeaning, field: SelectedField): WriteCall {
  const { call, relations } = planCall(tools, meaning, field)
  return {
    kind: 'call',
    query: compileSelectedCall(call),
    relations,
    explain: (deps, caller, failure) =>
      explainSelectedCall(deps, tools.catalog, call, {
        caller,
        failure,
        refuseWrite: undefined,
        isOnly: true,
      }),
  }
}

interface PlannedCall {
  readonly call: SelectedCall
  /** Relations that the selection of the result reads. */
  readonly relations: readonly Relation[]
}

/** @throws AppError invalid_graphql_argument, and those of the values of arguments */
function planCall(tools: PlanTools, meaning: CallMeaning, field: SelectedField): PlannedCall {
  const { called, parameters } = meaning
  const values = new Map<string, unknown>()
  const args: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(field.args)) {
    const parameter = parameters.get(name)
    if (parameter === undefined) args[name] = value
    else values.set(parameter.name, value)
  }
  const target = targetOf(called, values)
  const { result, relations } = planResult(tools, meaning, { ...field, args })
  return { call: { ...target, result }, relations }
}

function planResult(
  tools: PlanTools,
  meaning: CallMeaning,
  field: SelectedField,
): { readonly result: SelectedResult; readonly relations: readonly Relation[] } {
  const { called, relation, value } = meaning
  const isList = called.returnsSet && called.result.kind !== 'void'
  const page = isList ? planPage(tools, meaning, field) : undefined
  const around = page?.limit ?? 1
  tools.cost.add(around)
  if (relation === undefined) {
    const result: SelectedResult =
      value === undefined
        ? { kind: called.result.kind === 'void' ? 'void' : 'record' }
        : { kind: 'value', value, page }
    return { result, relations: [] }
  }
  const record = planSelectedRecord(tools, relation, field, around)
  // A row of the function may lack a value that every record of the table has.
  const required = [...(tools.names.get(relation)?.columns.values() ?? [])].filter(
    ({ nullable }) => !nullable,
  )
  return {
    result: { kind: 'row', selection: record.selection, required, page },
    relations: isTable(tools, relation)
      ? [...relationsOfSelected(record), ...(page === undefined ? [] : relationsOfRows(page.rows))]
      : [],
  }
}

/** Plans a part of the set. Without `order_by` it has the order of the function. */
function planPage(tools: PlanTools, { called, relation }: CallMeaning, field: SelectedField): ResultPage {
  const rows = relationOfResult(called)
  const { limit, offset } = readPage(field, listLimit)
  if (relation === undefined) {
    return { rows: { relation: rows, conditions: [] }, order: [], distinct: [], limit, offset }
  }
  const { sort, distinct } = readOrder(tools, relation, field)
  requireOwnColumns(sort)
  return {
    rows: planRowsOf(tools, relation, field),
    order: planOrder(rows, sort, 'unrestricted').keys,
    distinct,
    limit,
    offset,
  }
}

function isTable({ catalog }: PlanTools, relation: Relation): boolean {
  return catalog.relations.get(relation.collection) === relation
}
