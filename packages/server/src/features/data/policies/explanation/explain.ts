import { describeContext } from '../../../../database/caller/caller-context.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { clauseOf } from '../applicable-policies.ts'
import type { Examination } from '../context.ts'
import { evaluateStage } from '../evaluation/evaluate.ts'
import { evaluateParts, type ValuedPart } from '../evaluation/evaluated-expression.ts'
import { describeReads } from '../evaluation/policy-reads.ts'
import { type Action, planStages, type Stage, type Verdict } from '../evaluation/stages.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { type Gate, stopping } from '../gates/gate.ts'
import { gatesOfTable } from '../gates/table-gates.ts'
import { explainPlans } from '../rehearsal/query-plans.ts'
import { type ProductionRun, runRequest } from '../rehearsal/run-request.ts'
import { findVisible, type Visibility } from '../rows/candidates.ts'
import type { RowRequest } from '../rows/row-requests.ts'
import { findSubjects, rowOf, type Subject } from '../rows/subjects.ts'
import type { ExplainRequest, Explanation } from '../schemas.ts'
import { type ExplainedRow, explainRow, outcomesOf, withoutBody } from './explained-row.ts'
import { reproduce } from './psql-script.ts'
import { nearness } from './sentences.ts'

export async function explain(examination: Examination, request: ExplainRequest): Promise<Explanation> {
  const { rehearsal, catalog, relation, caller } = examination
  const { action = 'select', plan = 'none' } = request
  const gates = [...caller.gates, ...gatesOfTable(catalog, caller, relation, action)]
  const stages = planStages(relation, caller.scope.kind, action)
  const subjects = await findSubjects(examination, request)
  const candidates = subjects.rows.flatMap(({ candidate }) => candidate ?? [])
  const visibilities = action === 'select' ? await findVisible(rehearsal, relation, candidates) : []
  const runs = await runRequests(examination, subjects.requests, gates)
  const rows = await explainRows(examination, {
    action,
    gates,
    stages,
    subjects: subjects.rows,
    visibilities,
    runs,
  })
  const [run] = runs
  const { role, settings } = describeContext(caller.scope)
  return {
    caller: { label: caller.label, kind: caller.as.kind, role, settings, grant: describeGrant(caller) },
    table: describeTable(relation),
    action,
    gates,
    stages: stages.map(({ name, command, clause, row }) => ({ name, command, clause, row })),
    policies: describePolicies(relation, caller, stages),
    reads: await describeReads(rehearsal, relation, policiesOf(stages)),
    rows,
    isCut: subjects.isCut,
    answer: answerOf(examination, rows, gates, stages),
    statement: run && { ...run.statement, outcome: withoutBody(run.outcome) },
    plans:
      plan === 'none' || run?.statement === undefined
        ? undefined
        : await explainPlans(rehearsal, run.statement, plan === 'analyze'),
    psql: reproduce(caller.scope, run?.statement),
    remains: action === 'select' ? [] : ['numbers that sequences have given'],
  }
}

/** Sends each request to the data API, unless a gate stops it before a statement is sent. */
async function runRequests(
  { context, rehearsal, caller }: Examination,
  requests: readonly RowRequest[],
  gates: readonly Gate[],
): Promise<ProductionRun[]> {
  const refusal = stopping(gates)?.refusal
  if (refusal !== undefined) return requests.map(() => ({ outcome: refusal, statement: undefined }))
  const runs: ProductionRun[] = []
  for (const { send } of requests) {
    runs.push(await runRequest({ open: context.openCollections, rehearsal }, caller.scope, send))
  }
  return runs
}

interface ExplainedSubjects {
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  readonly subjects: readonly Subject[]
  /** Visibility by row, for a select. */
  readonly visibilities: readonly Visibility[]
  /** Runs by row for a write; for a select, one run for all rows. */
  readonly runs: readonly ProductionRun[]
}

async function explainRows(examination: Examination, input: ExplainedSubjects): Promise<ExplainedRow[]> {
  const { action, gates, stages, subjects, visibilities, runs } = input
  const verdicts = await evaluateStages(examination, stages, subjects)
  const rows: ExplainedRow[] = []
  let isClosestKnown = false
  for (const [index, subject] of subjects.entries()) {
    const ofRow = verdicts.map((byRow) => byRow[index])
    const failing = stages[outcomesOf({ stages, verdicts: ofRow }).indexOf(false)]
    // Only for the first rejected row: others are explained one at a time.
    const closest =
      isClosestKnown || failing === undefined ? undefined : await findClosest(examination, failing, subject)
    if (closest !== undefined) isClosestKnown = true
    rows.push(
      explainRow({
        ...{ label: examination.caller.label, action, gates, stages, subject, verdicts: ofRow, closest },
        visibility: visibilities[index],
        outcome: runs[action === 'select' ? 0 : index]?.outcome,
      }),
    )
  }
  return rows
}

/** Evaluates by stage and row; undefined where there is no row to evaluate. */
async function evaluateStages(
  { rehearsal, relation }: Examination,
  stages: readonly Stage[],
  subjects: readonly Subject[],
): Promise<(readonly Verdict[] | undefined)[][]> {
  const byStage: (readonly Verdict[] | undefined)[][] = []
  for (const stage of stages) {
    const inputs = subjects.map((subject) => rowOf(stage, subject))
    const texts = inputs.flatMap((row) => (row?.kind === 'stored' ? row.texts : []))
    const records = inputs.flatMap((row) => (row?.kind === 'records' ? row.records : []))
    const rows =
      stage.row === 'before' ? ({ kind: 'stored', texts } as const) : ({ kind: 'records', records } as const)
    const verdicts = await evaluateStage(rehearsal, relation, stage, rows)
    byStage.push(inputs.map((row) => (row === undefined ? undefined : verdicts.shift())))
  }
  return byStage
}

type Closest = { readonly policy: string; readonly part: ValuedPart } | undefined

/** Maximum number of policies that are split for a sentence. */
const comparedPolicies = 5

/** Finds the permissive policy with the most true parts. */
async function findClosest(
  { rehearsal, relation }: Examination,
  stage: Stage,
  subject: Subject,
): Promise<Closest> {
  const row = rowOf(stage, subject)
  if (row === undefined) return undefined
  let best: { policy: string; part: ValuedPart; score: number } | undefined
  for (const policy of stage.policies.filter(({ permissive }) => permissive).slice(0, comparedPolicies)) {
    const clause = clauseOf(policy, stage.clause)
    if (clause === undefined) continue
    const part = await evaluateParts(rehearsal, relation, row, clause)
    const score = nearness(part)
    if (best === undefined || score > best.score) best = { policy: policy.name, part, score }
  }
  return best
}

function policiesOf(stages: readonly Stage[]) {
  return [...new Set(stages.flatMap(({ policies }) => policies))]
}

function describeTable({ collection, schema, name, kind, rlsEnabled, primaryKey }: Relation) {
  return { collection, schema, name, kind, rlsEnabled, primaryKey: primaryKey.map((column) => column.name) }
}

function describeGrant({ scope }: ExaminedCaller) {
  if (scope.kind !== 'caller' || scope.grant === undefined) return null
  const { mayWrite, tables } = scope.grant
  return { mayWrite, tables: tables === undefined ? null : [...tables] }
}

/** Describes all policies of the table, with the stages that they take part in. */
function describePolicies(relation: Relation, { scope }: ExaminedCaller, stages: readonly Stage[]) {
  return relation.policies.map((policy) => ({
    name: policy.name,
    command: policy.command,
    permissive: policy.permissive,
    roles: policy.roles,
    using: policy.using ?? null,
    check: policy.check ?? null,
    isForCaller: scope.kind === 'caller' ? policy.isForCallers : policy.isForAnonymous,
    /** Index of each stage, and of the policy within it. */
    stages: stages.flatMap(({ policies }, stage) =>
      policies.includes(policy) ? [{ stage, place: policies.indexOf(policy) }] : [],
    ),
  }))
}

/** Returns the result for the first rejected row, or else for the first row. */
function answerOf(
  { caller, relation }: Examination,
  rows: readonly ExplainedRow[],
  gates: readonly Gate[],
  stages: readonly Stage[],
): string {
  const denied = rows.find(({ allowed, actual }) => allowed !== true || actual === false)
  if (denied !== undefined) return denied.sentence
  const { collection } = relation
  const stopped = stopping(gates)
  if (stopped !== undefined) {
    return `${caller.label} is stopped before the policies of ${collection}: ${stopped.sentence}`
  }
  const [row] = rows
  if (row !== undefined) return row.sentence
  return `no row of ${collection} matches; ${policiesOf(stages).length} policies apply to ${caller.label}`
}
