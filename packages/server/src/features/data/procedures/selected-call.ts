import type { Catalog, Column, DatabaseFunction } from '../../../database/catalog/model.ts'
import type { StatementFailed } from '../../../database/connection/message.ts'
import { findOutermostFunction, isRaised } from '../../../database/errors/definition-faults.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { AppError } from '../../../lib/errors.ts'
import {
  type Caller,
  compileConditions,
  compileDistinct,
  compileOrder,
  compileSelection,
  type OrderKey,
  type RowsPlan,
  requireFittingValue,
  type SelectedColumn,
  type Selection,
} from '../collections/index.ts'
import { compileCall, compileRows, compileSource } from './compile.ts'
import { explainFailure, type FaultDeps } from './failures.ts'
import { findObstacle, mayExecute, type Target } from './resolve.ts'

/** Call of a function whose client selects parts of the result, as one part of a statement. */
export interface SelectedCall {
  readonly target: Target
  /** Arguments as JSON text. */
  readonly json: string
  readonly result: SelectedResult
}

export type SelectedResult =
  /** Constant true for a function that returns nothing. */
  | { readonly kind: 'void' }
  /** Row whose columns are not declared. */
  | { readonly kind: 'record' }
  | { readonly kind: 'value'; readonly value: SelectedColumn; readonly page: ResultPage | undefined }
  | {
      readonly kind: 'row'
      readonly selection: Selection
      /** Columns without which a row does not count. */
      readonly required: readonly Column[]
      readonly page: ResultPage | undefined
    }

/** Part of a set. */
export interface ResultPage {
  readonly rows: RowsPlan
  readonly order: readonly OrderKey[]
  readonly distinct: readonly Column[]
  readonly limit: number
  readonly offset: number
}

/** Alias of the returned rows. */
const row = 't'

/** Returns the functions that a request of the caller can call by names alone: all but those with overloads. */
export function callableFunctions(
  { procedures }: Catalog,
  reader: Parameters<typeof mayExecute>[1],
): readonly DatabaseFunction[] {
  return [...procedures.values()].flatMap(([called, ...overloads]) => {
    if (called === undefined || overloads.length > 0 || !mayExecute(called, reader)) return []
    const isNamed = called.parameters.every(({ name }) => name !== '')
    return isNamed && findObstacle(called) === undefined ? [called] : []
  })
}

/**
 * Returns the target of a call with these arguments.
 *
 * @param values by the names of parameters; those that are absent get their defaults
 * @throws AppError unknown_column, invalid_value, invalid_geometry
 */
export function targetOf(
  called: DatabaseFunction,
  values: ReadonlyMap<string, unknown>,
): Pick<SelectedCall, 'target' | 'json'> {
  const passed = called.parameters.filter(({ name }) => values.has(name))
  const json = JSON.stringify(Object.fromEntries(values))
  const members = JSON.parse(json) as Readonly<Record<string, unknown>>
  for (const parameter of passed) requireFittingValue(parameter, members[parameter.name])
  return { target: { called, passed, takesBody: false, json: sql`${json}::json` }, json }
}

/** Compiles the call to a query of one JSON value. A row that is NULL, or lacks a required column, is null. */
export function compileSelectedCall({ target, result }: SelectedCall): Sql {
  const call = sql`select ${compileCall(target)} as v ${compileSource(target)} offset 0`
  switch (result.kind) {
    case 'void':
      // The value is referenced although it says nothing: PostgreSQL leaves out an unused call of a stable function.
      return sql`select to_json(count(case when s.v is null then 1 end) >= 0) from (${call}) s`
    case 'record':
      return sql`select to_json(s.v) from (${call}) s`
    case 'value': {
      const { value, page } = result
      const name = sql.id(value.column.name)
      const rows =
        page === undefined
          ? sql`select s.v as ${name} from (${call}) s offset 0`
          : compilePage(target, page, [])
      const list = compileSelection([{ ...value, key: 'v' }], row)
      const shown = page === undefined ? sql`to_json(r.v)` : sql`coalesce(json_agg(r.v), '[]')`
      return sql`select ${shown} from (select ${list} from (${rows}) ${sql.id(row)}) r`
    }
    case 'row': {
      const { selection, required, page } = result
      const list = compileSelection(selection, row)
      if (page !== undefined) {
        const rows = compilePage(target, page, required)
        return sql`select coalesce(json_agg(r.*), '[]') from (select ${list} from (${rows}) ${sql.id(row)}) r`
      }
      return sql`
        select row_to_json(r.*)
        from (
          select ${list}
          from (${call}) s
          cross join lateral (select ${compileMembers(target)}) ${sql.id(row)}
          where ${sql.join([sql`s.v is distinct from null`, ...compileRequired(required)], sql` and `)}
        ) r`
    }
  }
}

function compileMembers({ called: { result } }: Target): Sql {
  const columns = result.kind === 'row' ? result.columns : []
  return sql.join(columns.map(({ name }) => sql`(s.v).${sql.id(name)} as ${sql.id(name)}`))
}

function compilePage(
  target: Target,
  { rows, order, distinct, limit, offset }: ResultPage,
  required: readonly Column[],
): Sql {
  const conditions = [compileConditions(rows, row), ...compileRequired(required)]
  return sql`
    select ${compileDistinct(distinct, row)}${sql.id(row)}.* ${compileRows(target)}
    where ${sql.join(conditions, sql` and `)}
    ${compileOrder(order, row)}
    limit ${sql.integer(limit)}
    ${offset === 0 ? sql.empty : sql`offset ${String(offset)}`}`
}

function compileRequired(columns: readonly Column[]): readonly Sql[] {
  return columns.map(({ name }) => sql`${sql.id(row, name)} is not null`)
}

/** Failed statement that contains a call. */
export interface SelectedFailure {
  readonly caller: Caller
  readonly failure: StatementFailed
  /** Creates the error of a function that writes in a read-only transaction; undefined in any other transaction. */
  readonly refuseWrite: (() => AppError) | undefined
  /** True if nothing else in the statement can have failed. */
  readonly isOnly: boolean
}

/**
 * Returns the error of the call in a failed statement; undefined if another part of the statement may have failed.
 */
export async function explainSelectedCall(
  deps: FaultDeps,
  catalog: Catalog,
  { target, json }: SelectedCall,
  { caller, failure, refuseWrite, isOnly }: SelectedFailure,
): Promise<AppError | undefined> {
  const { called } = target
  const overloads = catalog.procedures.get(called.procedure) ?? []
  const call = { caller, target, overloads, json, refuseWrite, list: undefined }
  const outermost = findOutermostFunction(failure.error)
  const isNamed = outermost !== undefined && namesFunction(outermost, called)
  const isOfCall = isOnly || isNamed || isRaised(failure.error)
  return isOfCall ? await explainFailure(deps, failure, call) : undefined
}

/** Returns whether a CONTEXT line names the function: bare or with its schema, in quotes if necessary. */
function namesFunction(line: string, { name }: DatabaseFunction): boolean {
  return [' ', '.', '"'].some((before) =>
    ['(', '"', ' '].some((after) => line.includes(before + name + after)),
  )
}
