import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { describeContext } from '../../../database/user-database.ts'
import { clauseOf, decidingPolicies } from '../../data/policies/index.ts'
import type { ExaminedCaller } from './callers.ts'
import { type Candidate, findVisible, readCandidates, type Sight } from './candidates.ts'
import { accessErrors } from './errors.ts'
import { evaluateParts, type ValuedPart } from './expression-parts.ts'
import { type Gate, gatesOfTable } from './gates.ts'
import { evaluateStage, type GivenRows } from './matrix.ts'
import { explainPlans, type Plans } from './plans.ts'
import { type Outcome, type ProductionRun, runRequest } from './production.ts'
import { describeReads, type PolicyRead } from './reads.ts'
import type { Rehearsal } from './rehearsal.ts'
import { reproduce } from './reproduce.ts'
import { makeRequests, type RowRequest } from './requests.ts'
import type { ExplainRequest } from './schemas.ts'
import { describeRow, nearness } from './sentences.ts'
import type { AccessContext } from './service.ts'
import { type Action, combine, combineStages, planStages, type Stage, type Verdict } from './stages.ts'

const defaultRows = 20
/** Each row of a write is a request of its own. */
const writtenRows = 10

export interface ExplainedRow {
  readonly id: string | undefined
  readonly shown: Readonly<Record<string, string | null>>
  /** By stage: what its policies come to, and each of them. Undefined where there is no row to ask about. */
  readonly stages: readonly {
    readonly outcome: boolean | 'error' | undefined
    readonly verdicts: readonly Verdict[]
  }[]
  /** What the policies come to; undefined where some could not be asked. */
  readonly allowed: boolean | 'error' | undefined
  /** What the database answered: undefined where it could not be asked. */
  readonly actual: boolean | undefined
  /** Of a row that the database could not be asked about, or a write: what it answered. */
  readonly answer: Omit<Outcome, 'body'> | undefined
  /** Whether both say the same; undefined where one of them does not say. */
  readonly agrees: boolean | undefined
  readonly sentence: string
}

export interface Explanation {
  readonly caller: object
  readonly table: object
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Omit<Stage, 'policies'>[]
  readonly policies: readonly object[]
  readonly reads: readonly PolicyRead[]
  readonly rows: readonly ExplainedRow[]
  /** Whether rows were left out because together they are too large. */
  readonly isCut: boolean
  readonly answer: string
  readonly statement: object | undefined
  readonly plans: Plans | undefined
  readonly psql: string
  /** What is not undone. */
  readonly remains: readonly string[]
}

/** The rows of a request, each with what would be done to it. */
interface Subjects {
  readonly candidates: readonly (Candidate | undefined)[]
  readonly requests: readonly RowRequest[]
  readonly isCut: boolean
}

export async function explain(
  context: AccessContext,
  rehearsal: Rehearsal,
  catalog: Catalog,
  relation: Relation,
  caller: ExaminedCaller,
  request: ExplainRequest,
): Promise<Explanation> {
  const { action = 'select', plan = 'none' } = request
  const gates = [...caller.gates, ...gatesOfTable(catalog, caller, relation, action)]
  const stages = planStages(relation, caller.scope.kind, action)
  const subjects = await findSubjects(context, rehearsal, catalog, relation, request)
  const before: GivenRows = {
    kind: 'stored',
    texts: subjects.candidates.flatMap((candidate) => (candidate === undefined ? [] : [candidate.stored])),
  }
  const afters = await makeAfters(context, rehearsal, subjects)
  const sights = action === 'select' ? await findVisible(rehearsal, relation, known(subjects.candidates)) : []
  const runs: ProductionRun[] = []
  for (const { send } of subjects.requests) {
    runs.push(await runRequest({ open: context.openCollections, rehearsal }, caller.scope, send))
  }
  const byStage = await evaluateStages(rehearsal, relation, stages, before, afters)
  const rows: ExplainedRow[] = []
  let hasClosest = false
  const count = action === 'select' ? subjects.candidates.length : subjects.requests.length
  for (let index = 0; index < count; index += 1) {
    const verdicts = byStage.map((rowsOfStage) => rowsOfStage[index])
    const outcomes = stages.map((stage, place) => {
      const values = verdicts[place]
      return (
        values &&
        combine(
          stage.policies,
          values.map(({ value }) => value),
        )
      )
    })
    const after = afters[index]
    const candidate = subjects.candidates[index]
    const allowed = combineStages(outcomes)
    const actual = action === 'select' ? seen(sights[index]) : happened(runs[index]?.outcome)
    const failing = outcomes.indexOf(false)
    const closest: Awaited<ReturnType<typeof findClosest>> =
      hasClosest || failing === -1
        ? undefined
        : await findClosest(rehearsal, relation, stages[failing], pickRow(stages[failing], candidate, after))
    hasClosest ||= closest !== undefined
    const isStopped = gates.some(({ verdict }) => verdict === 'stops')
    rows.push({
      id: candidate?.id,
      shown: candidate?.shown ?? shownOf(after),
      stages: outcomes.map((outcome, place) => ({ outcome, verdicts: verdicts[place] ?? [] })),
      allowed,
      actual,
      answer: action === 'select' ? describeSight(sights[index]) : withoutBody(runs[index]?.outcome),
      agrees:
        isStopped || typeof allowed !== 'boolean' || actual === undefined ? undefined : allowed === actual,
      sentence: describeRow({
        label: caller.label,
        action,
        id: candidate?.id,
        gates,
        stages,
        outcomes,
        verdicts: verdicts.map((values) => values ?? []),
        closest,
        actual,
        fault: faultOf(after, runs[index]?.outcome, action),
      }),
    })
  }
  const [run] = runs
  const { role, settings } = describeContext(caller.scope)
  return {
    caller: { label: caller.label, kind: caller.as.kind, role, settings, grant: describeGrant(caller) },
    table: {
      collection: relation.collection,
      schema: relation.schema,
      name: relation.name,
      kind: relation.kind,
      rlsEnabled: relation.rlsEnabled,
      primaryKey: relation.primaryKey.map(({ name }) => name),
    },
    action,
    gates,
    stages: stages.map(({ name, command, clause, row }) => ({ name, command, clause, row })),
    policies: describePolicies(relation, caller, stages),
    reads: await describeReads(rehearsal, relation, unique(stages)),
    rows,
    isCut: subjects.isCut,
    answer: answerOf(rows, gates, caller, relation),
    statement: run && { ...run.statement, outcome: withoutBody(run.outcome) },
    plans:
      plan === 'none' || run?.statement === undefined
        ? undefined
        : await explainPlans(rehearsal, run.statement, plan === 'analyze'),
    psql: reproduce(caller.scope, run?.statement),
    remains: action === 'select' ? [] : ['numbers that sequences have given'],
  }
}

function known(candidates: Subjects['candidates']): Candidate[] {
  return candidates.filter((candidate) => candidate !== undefined)
}

async function findSubjects(
  context: AccessContext,
  rehearsal: Rehearsal,
  catalog: Catalog,
  relation: Relation,
  request: ExplainRequest,
): Promise<Subjects> {
  const { action = 'select', ids, filter, limit = defaultRows } = request
  const query = filter === undefined || filter === '' ? '' : `filter=${encodeURIComponent(filter)}`
  if (action === 'insert') {
    return { candidates: [], requests: makeRequests(relation, request, query, []), isCut: false }
  }
  const found = await readCandidates(rehearsal, relation, {
    ids,
    plan: context.planRows(catalog, relation, query),
    limit: action === 'select' ? limit : Math.min(limit, writtenRows),
  })
  return {
    candidates: found.rows,
    requests: makeRequests(relation, request, query, found.rows),
    isCut: found.isCut,
  }
}

/** A row as a write would make it, were it not for the policies. */
type After = { readonly record: string } | { readonly fault: Outcome } | undefined

async function makeAfters(
  context: AccessContext,
  rehearsal: Rehearsal,
  { requests }: Subjects,
): Promise<After[]> {
  const afters: After[] = []
  for (const { send, makesRow } of requests) {
    if (!makesRow) {
      afters.push(undefined)
      continue
    }
    const admin = { kind: 'unrestricted' } as const
    const { outcome } = await runRequest({ open: context.openCollections, rehearsal }, admin, send)
    afters.push(outcome.body === undefined ? { fault: outcome } : { record: outcome.body })
  }
  return afters
}

/** The row that a stage of the request asks about: the first. @throws AppError invalid_explanation */
export async function findRow(
  context: AccessContext,
  rehearsal: Rehearsal,
  catalog: Catalog,
  relation: Relation,
  request: ExplainRequest,
  stage: Stage,
): Promise<GivenRows> {
  const subjects = await findSubjects(context, rehearsal, catalog, relation, { ...request, limit: 1 })
  const one = { ...subjects, requests: subjects.requests.slice(0, 1) }
  const [after] = stage.row === 'after' ? await makeAfters(context, rehearsal, one) : []
  const row = pickRow(stage, one.candidates[0], after)
  if (row !== undefined) return row
  throw accessErrors.invalidExplanation(
    after !== undefined && 'fault' in after
      ? `values: ${after.fault.message ?? 'the row cannot be made'}`
      : `no row of ${relation.collection} matches`,
  )
}

/** By stage and row; undefined where there is no row. */
async function evaluateStages(
  rehearsal: Rehearsal,
  relation: Relation,
  stages: readonly Stage[],
  before: GivenRows,
  afters: readonly After[],
): Promise<(readonly Verdict[] | undefined)[][]> {
  const records = afters.map((after) => (after !== undefined && 'record' in after ? after.record : undefined))
  const given = records.filter((record) => record !== undefined)
  const byStage: (readonly Verdict[] | undefined)[][] = []
  for (const stage of stages) {
    if (stage.row === 'before') {
      byStage.push(await evaluateStage(rehearsal, relation, stage, before))
      continue
    }
    const verdicts = await evaluateStage(rehearsal, relation, stage, { kind: 'records', records: given })
    byStage.push(records.map((record) => (record === undefined ? undefined : verdicts.shift())))
  }
  return byStage
}

function pickRow(
  stage: Stage | undefined,
  candidate: Candidate | undefined,
  after: After,
): GivenRows | undefined {
  if (stage?.row === 'after') {
    return after !== undefined && 'record' in after ? { kind: 'records', records: [after.record] } : undefined
  }
  return candidate && { kind: 'stored', texts: [candidate.stored] }
}

/** Policies that are taken apart for a sentence. */
const comparedPolicies = 5

async function findClosest(
  rehearsal: Rehearsal,
  relation: Relation,
  stage: Stage | undefined,
  row: GivenRows | undefined,
): Promise<{ policy: string; part: ValuedPart } | undefined> {
  if (stage === undefined || row === undefined) return undefined
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

function seen(sight: Sight): boolean | undefined {
  return typeof sight === 'boolean' ? sight : undefined
}

function describeSight(sight: Sight): ExplainedRow['answer'] {
  if (sight === undefined || typeof sight === 'boolean') return undefined
  return { status: 500, error: sight.sqlState, message: sight.message }
}

const refusals = new Set([401, 403, 404])

/** Undefined where something else than the policies refused the write. */
function happened(outcome: Outcome | undefined): boolean | undefined {
  if (outcome === undefined) return undefined
  if (outcome.status < 300) return true
  return refusals.has(outcome.status) ? false : undefined
}

function faultOf(after: After, outcome: Outcome | undefined, action: Action): string | undefined {
  if (action === 'select') return undefined
  const fault =
    after !== undefined && 'fault' in after ? `${after.fault.status} ${after.fault.message}` : undefined
  const refusal =
    outcome === undefined || outcome.status < 300 ? undefined : `${outcome.status} ${outcome.message}`
  if (fault === undefined || refusal === undefined || fault === refusal) return fault ?? refusal
  return `${refusal}; without policies: ${fault}`
}

function withoutBody(outcome: Outcome | undefined): Omit<Outcome, 'body'> | undefined {
  if (outcome === undefined) return undefined
  const { body: _, ...rest } = outcome
  return rest
}

function shownOf(after: After): Readonly<Record<string, string | null>> {
  if (after === undefined || !('record' in after)) return {}
  const record = JSON.parse(after.record) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(record)
      .slice(0, 20)
      .map(([name, value]) => [name, value === null ? null : textOf(value).slice(0, 200)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function unique(stages: readonly Stage[]) {
  return [...new Set(stages.flatMap(({ policies }) => policies))]
}

function describeGrant({ scope }: ExaminedCaller) {
  if (scope.kind !== 'caller' || scope.grant === undefined) return null
  const { mayWrite, tables } = scope.grant
  return { mayWrite, tables: tables === undefined ? null : [...tables] }
}

/** All policies of the table, and in which stages they take part. */
function describePolicies(relation: Relation, { scope }: ExaminedCaller, stages: readonly Stage[]) {
  const asker = scope.kind
  return relation.policies.map((policy) => ({
    name: policy.name,
    command: policy.command,
    permissive: policy.permissive,
    roles: policy.roles,
    using: policy.using ?? null,
    check: policy.check ?? null,
    isForCaller: asker === 'caller' ? policy.isForCallers : policy.isForAnonymous,
    /** Index of each stage, with its place there. */
    stages: stages.flatMap(({ policies }, stage) =>
      policies.includes(policy) ? [{ stage, place: policies.indexOf(policy) }] : [],
    ),
  }))
}

function answerOf(
  rows: readonly ExplainedRow[],
  gates: readonly Gate[],
  { label, scope }: ExaminedCaller,
  relation: Relation,
): string {
  const [row] = rows
  const denied = rows.find(({ allowed, actual }) => allowed !== true || actual === false)
  if (denied !== undefined) return denied.sentence
  const stopped = gates.find(({ verdict }) => verdict === 'stops')
  if (stopped !== undefined)
    return `${label} is stopped before the policies of ${relation.collection}: ${stopped.sentence}`
  if (row !== undefined) return row.sentence
  const policies = relation.rlsEnabled
    ? decidingPolicies(relation, scope.kind === 'anonymous' ? 'anonymous' : 'caller', 'SELECT')
    : []
  return `no row of ${relation.collection} matches; ${policies.length} policies for select apply to ${label}`
}
