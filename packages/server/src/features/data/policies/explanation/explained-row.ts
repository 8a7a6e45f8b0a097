import type { ValuedPart } from '../evaluation/evaluated-expression.ts'
import { type Action, combine, combineStages, type Stage, type Verdict } from '../evaluation/stages.ts'
import { type Gate, stopping } from '../gates/gate.ts'
import type { Outcome } from '../rehearsal/run-request.ts'
import type { Visibility } from '../rows/candidates.ts'
import type { Subject } from '../rows/subjects.ts'
import type { Explanation } from '../schemas.ts'
import { describeRow } from './sentences.ts'

export type ExplainedRow = Explanation['rows'][number]

/** Findings about a row. */
export interface Findings {
  readonly label: string
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  readonly subject: Subject
  /** Verdicts by stage; undefined where there is no row to evaluate. */
  readonly verdicts: readonly (readonly Verdict[] | undefined)[]
  /** Visibility of the row in the database, for a select. */
  readonly visibility: Visibility
  /** Outcome of the data API: for a write of this row, for a read of all rows. */
  readonly outcome: Outcome | undefined
  readonly closest: { readonly policy: string; readonly part: ValuedPart } | undefined
}

/** Combines the policies of each stage. */
export function outcomesOf({ stages, verdicts }: Pick<Findings, 'stages' | 'verdicts'>) {
  return stages.map((stage, index) => {
    const values = verdicts[index]?.map(({ value }) => value)
    return values && combine(stage.policies, values)
  })
}

/** Explains a row from its findings. Pure. */
export function explainRow(findings: Findings): ExplainedRow {
  const { label, action, gates, stages, subject, verdicts, visibility, outcome, closest } = findings
  const { candidate, after } = subject
  const outcomes = outcomesOf(findings)
  const allowed = combineStages(outcomes)
  const answer = action === 'select' ? answerOfRead(visibility, outcome) : outcome && withoutBody(outcome)
  const actual =
    answer === undefined ? (typeof visibility === 'boolean' ? visibility : undefined) : happened(answer)
  const isDecided = stopping(gates) === undefined && typeof allowed === 'boolean' && actual !== undefined
  return {
    id: candidate?.id,
    shown: candidate?.shown ?? displayedColumnsOf(after),
    stages: outcomes.map((each, index) => ({ outcome: each, verdicts: verdicts[index] ?? [] })),
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

/** Returns the result of a read. Undefined where the database says of the row itself whether it is visible. */
function answerOfRead(visibility: Visibility, outcome: Outcome | undefined) {
  const failure = outcome === undefined || outcome.status < 300 ? undefined : withoutBody(outcome)
  if (failure !== undefined && refusals.has(failure.status) && failure.error !== 'record_not_found')
    return failure
  // A list may fail at another row.
  if (typeof visibility === 'boolean') return undefined
  if (failure !== undefined) return failure
  if (visibility === undefined) return undefined
  return {
    status: visibility.sqlState === '57014' ? 504 : 500,
    error: visibility.sqlState,
    message: visibility.message,
  }
}

const refusals = new Set([401, 403, 404])

/** Returns whether the write happened; undefined where something other than the policies rejected it. */
function happened(outcome: Pick<Outcome, 'status'>): boolean | undefined {
  if (outcome.status < 300) return true
  return refusals.has(outcome.status) ? false : undefined
}

/** Returns the reason that rejects a write besides the policies. */
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

/** Maximum numbers of columns and characters of a row to be added. */
const [displayedColumns, displayedLength] = [20, 200]

function displayedColumnsOf(after: Subject['after']): Readonly<Record<string, string | null>> {
  if (after === undefined || !('record' in after)) return {}
  // The data API returns records in this form.
  const record = JSON.parse(after.record) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(record)
      .slice(0, displayedColumns)
      .map(([name, value]) => [name, value === null ? null : textOf(value).slice(0, displayedLength)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
