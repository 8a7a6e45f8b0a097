import { type Expression, sql } from '../../../../database/sql.ts'
import { clauseOf } from '../applicable-policies.ts'
import { type Examination, toQuery } from '../context.ts'
import { accessErrors } from '../errors.ts'
import { evaluate, type RowInput } from '../evaluation/evaluate.ts'
import { combine, planStages, type Stage, type Value } from '../evaluation/stages.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { stopping } from '../gates/gate.ts'
import { gatesOfTable } from '../gates/table-gates.ts'
import { readCandidates } from '../rows/candidates.ts'
import { type CompareRequest, type Comparison, defaultRows } from '../schemas.ts'
import { type Clauses, editPolicy, readClauses } from './edited-policy.ts'

type ComparedCaller = Comparison['callers'][number]

/** @param examine runs the work in a rehearsal of the caller @throws AppError policy_not_found, invalid_expression */
export async function compare(
  request: CompareRequest,
  callers: readonly ExaminedCaller[],
  examine: <Result>(
    caller: ExaminedCaller,
    work: (examination: Examination) => Promise<Result>,
  ) => Promise<Result>,
): Promise<Comparison> {
  const clauses = await readClauses(request.policy)
  const compared: ComparedCaller[] = []
  let rows = 0
  for (const caller of callers) {
    await examine(caller, async (each) => {
      const found = await compareFor(each, request, clauses)
      rows = Math.max(rows, found.rows)
      compared.push(found.compared)
    })
  }
  return { policy: request.policy.name, rows, callers: compared }
}

async function compareFor(
  { context, rehearsal, catalog, relation, caller }: Examination,
  { policy, action = 'select', ids, filter, limit = defaultRows.compare }: CompareRequest,
  clauses: Clauses,
): Promise<{ rows: number; compared: ComparedCaller }> {
  if (!relation.rlsEnabled) {
    throw accessErrors.invalidExplanation(`table: row-level security of ${relation.collection} is off`)
  }
  const stopped = stopping([...caller.gates, ...gatesOfTable(catalog, caller, relation, action)])?.sentence
  const edited = await editPolicy(rehearsal, relation, policy, clauses)
  const plan = context.planRows(catalog, relation, toQuery(filter))
  const { rows } = await readCandidates(rehearsal, relation, { ids, plan, limit })
  const input: RowInput = { kind: 'stored', texts: rows.map(({ stored }) => stored) }
  const known = new Map<string, Promise<Value[]>>()
  const valuesOf = (expression: Expression | undefined) => {
    if (expression === undefined) return Promise.resolve(rows.map((): Value => true))
    const running =
      known.get(expression) ??
      evaluate(rehearsal, relation, input, sql.expression(expression)).then((verdicts) => {
        for (const { message } of verdicts) if (message !== undefined) errors.add(message)
        return verdicts.map(({ value }) => value)
      })
    known.set(expression, running)
    return running
  }
  const errors = new Set<string>()
  const outcomesOf = async (stages: readonly Stage[]) => {
    const permitted = rows.map((): boolean | 'error' => stopped === undefined)
    // A write is compared on the row as it is.
    for (const stage of stages) {
      const values: Value[][] = []
      for (const each of stage.policies) values.push(await valuesOf(clauseOf(each, stage.clause)))
      for (const index of rows.keys()) {
        const outcome = combine(
          stage.policies,
          values.map((list) => list[index] ?? null),
        )
        if (permitted[index] !== false && outcome !== true) permitted[index] = outcome
      }
    }
    return permitted
  }
  const before = await outcomesOf(planStages(relation, caller.scope.kind, action))
  const after = await outcomesOf(planStages(edited, caller.scope.kind, action))
  const idsWhere = (test: (index: number) => boolean) =>
    rows.flatMap(({ id }, index) => (test(index) ? [id ?? null] : []))
  return {
    rows: rows.length,
    compared: {
      label: caller.label,
      stopped,
      shown: idsWhere((index) => before[index] !== true && after[index] === true),
      hidden: idsWhere((index) => before[index] === true && after[index] === false),
      kept: idsWhere((index) => before[index] === true && after[index] === true).length,
      absent: idsWhere((index) => before[index] === false && after[index] === false).length,
      errors: [...errors],
    },
  }
}
