import type { ValuedPart } from '../evaluation/evaluated-expression.ts'
import { type Action, combine, combineStages, type Stage, type Verdict } from '../evaluation/stages.ts'
import { type Gate, stopping } from '../gates/gate.ts'
import type { Outcome } from '../rehearsal/run-request.ts'
import type { Sight } from '../rows/candidates.ts'
import type { Subject } from '../rows/subjects.ts'
import type { Explanation } from '../schemas.ts'
import { describeRow } from './sentences.ts'

export type ExplainedRow = Explanation['rows'][number]

/** What was found out about a row. */
export interface Findings {
  readonly label: string
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  readonly subject: Subject
  /** By stage; undefined where there is no row to ask about. */
  readonly verdicts: readonly (readonly Verdict[] | undefined)[]
  /** Of a select: whether the database shows the row. */
  readonly sight: Sight
  /** What the data API answered: of a write for this row, of a read for all of them. */
  readonly outcome: Outcome | undefined
  readonly closest: { readonly policy: string; readonly part: ValuedPart } | undefined
}

/** What the policies of each stage come to. */
export function outcomesOf({ stages, verdicts }: Pick<Findings, 'stages' | 'verdicts'>) {
  return stages.map((stage, place) => {
    const values = verdicts[place]?.map(({ value }) => value)
    return values && combine(stage.policies, values)
  })
}

/** Pure. */
export function explainRow(findings: Findings): ExplainedRow {
  const { label, action, gates, stages, subject, verdicts, sight, outcome, closest } = findings
  const { candidate, after } = subject
  const outcomes = outcomesOf(findings)
  const allowed = combineStages(outcomes)
  const answer = action === 'select' ? answerOfRead(sight, outcome) : outcome && withoutBody(outcome)
  const actual = answer === undefined ? (typeof sight === 'boolean' ? sight : undefined) : happened(answer)
  const isDecided = stopping(gates) === undefined && typeof allowed === 'boolean' && actual !== undefined
  return {
    id: candidate?.id,
    shown: candidate?.shown ?? shownOf(after),
    stages: outcomes.map((each, place) => ({ outcome: each, verdicts: verdicts[place] ?? [] })),
    allowed,
    actual,
    answer,
    agrees: isDecided ? allowed === actual : undefined,
    sentence: describeRow({
      ...{ label, action, gates, stages, outcomes, closest, actual },
      id: candidate?.id,
      verdicts: verdicts.map((values) => values ?? []),
      fault: action === 'select' ? undefined : faultOf(after, outcome),
    }),
  }
}

/** Undefined where the database says of the row itself whether the caller sees it. */
function answerOfRead(sight: Sight, outcome: Outcome | undefined) {
  const failure = outcome === undefined || outcome.status < 300 ? undefined : withoutBody(outcome)
  if (failure !== undefined && refusals.has(failure.status) && failure.error !== 'record_not_found')
    return failure
  // A list may fail at another row.
  if (typeof sight === 'boolean') return undefined
  if (failure !== undefined) return failure
  if (sight === undefined) return undefined
  return { status: sight.sqlState === '57014' ? 504 : 500, error: sight.sqlState, message: sight.message }
}

const refusals = new Set([401, 403, 404])

/** Undefined where something else than the policies refused it. */
function happened(outcome: Pick<Outcome, 'status'>): boolean | undefined {
  if (outcome.status < 300) return true
  return refusals.has(outcome.status) ? false : undefined
}

/** What refuses a write besides the policies. */
function faultOf(after: Subject['after'], outcome: Outcome | undefined): string | undefined {
  const fault =
    after !== undefined && 'fault' in after ? `${after.fault.status} ${after.fault.message}` : undefined
  const refusal =
    outcome === undefined || outcome.status < 300 ? undefined : `${outcome.status} ${outcome.message}`
  if (fault === undefined || refusal === undefined || fault === refusal) return fault ?? refusal
  return `${refusal}; without policies: ${fault}`
}

export function withoutBody({ body: _, ...rest }: Outcome): Omit<Outcome, 'body'> {
  return rest
}

/** Columns and characters of a row to be added. */
const [shownColumns, shownLength] = [20, 200]

function shownOf(after: Subject['after']): Readonly<Record<string, string | null>> {
  if (after === undefined || !('record' in after)) return {}
  // As the data API answers records.
  const record = JSON.parse(after.record) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(record)
      .slice(0, shownColumns)
      .map(([name, value]) => [name, value === null ? null : textOf(value).slice(0, shownLength)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
