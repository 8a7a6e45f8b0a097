import type { Relation } from '../../../../database/catalog/model.ts'
import type { Call } from '../../../../database/connection/message.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { type Expression, type Sql, sql } from '../../../../database/sql.ts'
import { clauseOf } from '../applicable-policies.ts'
import { compileRecords, compileStoredRows, ordinalColumn } from '../input-rows.ts'
import { type Rehearsal, TimeIsUp, toCall } from '../rehearsal/rehearsal.ts'
import type { Stage, Value, Verdict } from './stages.ts'

/** Rows over which policies are evaluated. */
export type RowInput =
  /** Rows as PostgreSQL writes them. */
  | { readonly kind: 'stored'; readonly texts: readonly string[] }
  /** Rows that a write would make, as the API returns them. */
  | { readonly kind: 'records'; readonly records: readonly string[] }

function countRows(rows: RowInput): number {
  return rows.kind === 'stored' ? rows.texts.length : rows.records.length
}

function compileInput(relation: Relation, rows: RowInput): Sql {
  return rows.kind === 'stored'
    ? compileStoredRows(relation, sql`${rows.texts}`)
    : compileRecords(relation, sql`${`[${rows.records.join(',')}]`}`)
}

function pick(rows: RowInput, index: number): RowInput {
  return rows.kind === 'stored'
    ? { kind: 'stored', texts: rows.texts.slice(index, index + 1) }
    : { kind: 'records', records: rows.records.slice(index, index + 1) }
}

/** Compiles the values of an expression over the rows, in order. */
function compileValues(relation: Relation, rows: RowInput, expressions: readonly Sql[]): Call {
  return toCall(sql`
    select ${sql.join(expressions)}
    from ${compileInput(relation, rows)}
    order by ${ordinalColumn(relation)}`)
}

/**
 * Evaluates an expression for each row, as the caller. An error affects only the row that raises it: when one row
 * raises an error, each row is evaluated by itself.
 */
export async function evaluate(
  rehearsal: Rehearsal,
  relation: Relation,
  rows: RowInput,
  expression: Sql,
): Promise<Verdict[]> {
  const [values] = await evaluateTexts(rehearsal, relation, rows, [sql`(${expression})::boolean`])
  return (values ?? []).map(toVerdict)
}

/** Evaluates several expressions of any type: returns lists of texts, one for each of them. */
export async function evaluateTexts(
  rehearsal: Rehearsal,
  relation: Relation,
  rows: RowInput,
  expressions: readonly Sql[],
): Promise<Text[][]> {
  const count = countRows(rows)
  if (expressions.length === 0) return []
  if (count === 0) return expressions.map(() => [])
  try {
    const [answer] = await rehearsal.attempt([compileValues(relation, rows, expressions)])
    return expressions.map((_, index) => (answer?.rows ?? []).map((row) => ({ text: row[index] ?? null })))
  } catch (error) {
    const failure = describeFailure(error)
    if (count === 1 && expressions.length === 1) return [[failure]]
    // An expression that has exceeded the time limit would do so again for every part of it.
    if (failure.sqlState === '57014')
      return expressions.map(() => Array.from({ length: count }, () => failure))
    return count === 1
      ? await byExpression(rehearsal, relation, rows, expressions)
      : await byRow(rehearsal, relation, rows, expressions)
  }
}

async function byExpression(
  rehearsal: Rehearsal,
  relation: Relation,
  rows: RowInput,
  expressions: readonly Sql[],
): Promise<Text[][]> {
  const values: Text[][] = []
  for (const expression of expressions) {
    values.push(...(await evaluateTexts(rehearsal, relation, rows, [expression])))
  }
  return values
}

async function byRow(
  rehearsal: Rehearsal,
  relation: Relation,
  rows: RowInput,
  expressions: readonly Sql[],
): Promise<Text[][]> {
  const values: Text[][] = expressions.map(() => [])
  for (let index = 0; index < countRows(rows); index += 1) {
    const found = await evaluateTexts(rehearsal, relation, pick(rows, index), expressions)
    for (const [place, list] of found.entries()) values[place]?.push(...list)
  }
  return values
}

/** Value of an expression as text, or the reason why it has none. */
export type Text =
  | { readonly text: string | null }
  | { readonly text?: undefined; readonly message: string; readonly sqlState: string }

export function toVerdict(value: Text): Verdict {
  if (value.text === undefined) return { value: 'error', message: value.message, sqlState: value.sqlState }
  const read: Value = value.text === null ? null : value.text === 't'
  return { value: read }
}

/** @throws any error other than a fault of an expression or its timeout */
export function describeFailure(error: unknown): { readonly message: string; readonly sqlState: string } {
  if (error instanceof TimeIsUp) {
    return { message: 'not evaluated: the time for this explanation is over', sqlState: '57014' }
  }
  if (!(error instanceof StatementFailed)) throw error
  return { message: error.error.message, sqlState: error.error.code ?? 'XX000' }
}

/** Evaluates a stage for each row. The verdicts are in the order of its policies. */
export async function evaluateStage(
  rehearsal: Rehearsal,
  relation: Relation,
  stage: Stage,
  rows: RowInput,
): Promise<Verdict[][]> {
  const byPolicy: Verdict[][] = []
  for (const policy of stage.policies) {
    const clause: Expression | undefined = clauseOf(policy, stage.clause)
    const always: Verdict = { value: true }
    byPolicy.push(
      clause === undefined
        ? Array.from({ length: countRows(rows) }, () => always)
        : await evaluate(rehearsal, relation, rows, sql.expression(clause)),
    )
  }
  return Array.from({ length: countRows(rows) }, (_, row) =>
    byPolicy.map((verdicts) => verdicts[row] ?? { value: 'error', message: 'not evaluated' }),
  )
}
