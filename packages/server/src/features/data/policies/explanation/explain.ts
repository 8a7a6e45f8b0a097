import { describeContext } from '../../../../database/caller/caller-context.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import type { Look } from '../context.ts'
import { clauseOf } from '../deciding.ts'
import { evaluateStage } from '../evaluation/evaluate.ts'
import { evaluateParts, type ValuedPart } from '../evaluation/evaluated-expression.ts'
import { describeReads } from '../evaluation/policy-reads.ts'
import { type Action, planStages, type Stage, type Verdict } from '../evaluation/stages.ts'
import type { ExaminedCaller } from '../examined-caller.ts'
import { type Gate, stopping } from '../gates/gate.ts'
import { gatesOfTable } from '../gates/table-gates.ts'
import { explainPlans } from '../rehearsal/query-plans.ts'
import { type ProductionRun, runRequest } from '../rehearsal/run-request.ts'
import { findVisible, type Sight } from '../rows/candidates.ts'
import type { RowRequest } from '../rows/row-requests.ts'
import { findSubjects, rowOf, type Subject } from '../rows/subjects.ts'
import type { ExplainRequest, Explanation } from '../schemas.ts'
import { type ExplainedRow, explainRow, outcomesOf, withoutBody } from './explained-row.ts'
import { reproduce } from './psql-script.ts'
import { nearness } from './sentences.ts'

export async function explain(look: Look, request: ExplainRequest): Promise<Explanation> {
  const { rehearsal, catalog, relation, caller } = look
  const { action = 'select', plan = 'none' } = request
  const gates = [...caller.gates, ...gatesOfTable(catalog, caller, relation, action)]
  const stages = planStages(relation, caller.scope.kind, action)
  const subjects = await findSubjects(look, request)
  const candidates = subjects.rows.flatMap(({ candidate }) => candidate ?? [])
  const sights = action === 'select' ? await findVisible(rehearsal, relation, candidates) : []
  const runs = await runRequests(look, subjects.requests, gates)
  const rows = await explainRows(look, { action, gates, stages, subjects: subjects.rows, sights, runs })
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
    answer: answerOf(look, rows, gates, stages),
    statement: run && { ...run.statement, outcome: withoutBody(run.outcome) },
    plans:
      plan === 'none' || run?.statement === undefined
        ? undefined
        : await explainPlans(rehearsal, run.statement, plan === 'analyze'),
    psql: reproduce(caller.scope, run?.statement),
    remains: action === 'select' ? [] : ['numbers that sequences have given'],
  }
}

/** What the data API answers to each request, unless a gate stops it before a statement is sent. */
async function runRequests(
  { context, rehearsal, caller }: Look,
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

interface RowExplanationInput {
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  readonly subjects: readonly Subject[]
  /** Of a select, by row. */
  readonly sights: readonly Sight[]
  /** Of a write by row; of a select one for all rows. */
  readonly runs: readonly ProductionRun[]
}

async function explainRows(look: Look, asked: RowExplanationInput): Promise<ExplainedRow[]> {
  const { action, gates, stages, subjects, sights, runs } = asked
  const verdicts = await evaluateStages(look, stages, subjects)
  const rows: ExplainedRow[] = []
  let isClosestKnown = false
  for (const [index, subject] of subjects.entries()) {
    const ofRow = verdicts.map((byRow) => byRow[index])
    const failing = stages[outcomesOf({ stages, verdicts: ofRow }).indexOf(false)]
    // Of the first row that is refused: others are looked at one by one.
    const closest =
      isClosestKnown || failing === undefined ? undefined : await findClosest(look, failing, subject)
    if (closest !== undefined) isClosestKnown = true
    rows.push(
      explainRow({
        ...{ label: look.caller.label, action, gates, stages, subject, verdicts: ofRow, closest },
        sight: sights[index],
        outcome: runs[action === 'select' ? 0 : index]?.outcome,
      }),
    )
  }
  return rows
}

/** By stage and row; undefined where there is no row to ask about. */
async function evaluateStages(
  { rehearsal, relation }: Look,
  stages: readonly Stage[],
  subjects: readonly Subject[],
): Promise<(readonly Verdict[] | undefined)[][]> {
  const byStage: (readonly Verdict[] | undefined)[][] = []
  for (const stage of stages) {
    const given = subjects.map((subject) => rowOf(stage, subject))
    const texts = given.flatMap((row) => (row?.kind === 'stored' ? row.texts : []))
    const records = given.flatMap((row) => (row?.kind === 'records' ? row.records : []))
    const rows =
      stage.row === 'before' ? ({ kind: 'stored', texts } as const) : ({ kind: 'records', records } as const)
    const verdicts = await evaluateStage(rehearsal, relation, stage, rows)
    byStage.push(given.map((row) => (row === undefined ? undefined : verdicts.shift())))
  }
  return byStage
}

type Closest = { readonly policy: string; readonly part: ValuedPart } | undefined

/** Policies that are taken apart for a sentence. */
const comparedPolicies = 5

/** The permissive policy of which most is true. */
async function findClosest({ rehearsal, relation }: Look, stage: Stage, subject: Subject): Promise<Closest> {
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

/** All policies of the table, and in which stages they take part. */
function describePolicies(relation: Relation, { scope }: ExaminedCaller, stages: readonly Stage[]) {
  return relation.policies.map((policy) => ({
    name: policy.name,
    command: policy.command,
    permissive: policy.permissive,
    roles: policy.roles,
    using: policy.using ?? null,
    check: policy.check ?? null,
    isForCaller: scope.kind === 'caller' ? policy.isForCallers : policy.isForAnonymous,
    /** Index of each stage, with its place there. */
    stages: stages.flatMap(({ policies }, stage) =>
      policies.includes(policy) ? [{ stage, place: policies.indexOf(policy) }] : [],
    ),
  }))
}

/** The first row that is refused, or else the first one. */
function answerOf(
  { caller, relation }: Look,
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
