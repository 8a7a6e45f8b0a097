import type { ValuedPart } from '../evaluation/evaluated-expression.ts'
import type { Action, Stage, Verdict } from '../evaluation/stages.ts'
import { type Gate, stopping } from '../gates/gate.ts'

const does: Readonly<Record<Action, string>> = {
  select: 'sees',
  insert: 'adds',
  update: 'changes',
  delete: 'deletes',
}
const doesNot: Readonly<Record<Action, string>> = {
  select: 'does not see',
  insert: 'does not add',
  update: 'does not change',
  delete: 'does not delete',
}

export interface RowVerdicts {
  readonly label: string
  readonly action: Action
  readonly id: string | undefined
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  /** Outcomes by stage. */
  readonly outcomes: readonly (boolean | 'error' | undefined)[]
  /** Verdicts by stage and policy. */
  readonly verdicts: readonly (readonly Verdict[])[]
  /** Closest policy of the first stage that does not pass, split into parts. */
  readonly closest?: { readonly policy: string; readonly part: ValuedPart } | undefined
  /** Result in the database. */
  readonly actual?: boolean | undefined
  /** Reason that stops the row besides the policies: a constraint, a trigger. */
  readonly fault?: string | undefined
}

/** Describes in words whether a row passes. Pure. */
export function describeRow(verdicts: RowVerdicts): string {
  const { label, action, id, gates, stages, outcomes, actual, fault } = verdicts
  const row = id === undefined ? (action === 'insert' ? 'the row' : 'this row') : `row ${id}`
  const no = `${label} ${doesNot[action]} ${row}`
  const stopped = stopping(gates)
  if (stopped !== undefined) return `${no}: ${stopped.sentence}`
  const failing = outcomes.findIndex((outcome) => outcome === false || outcome === 'error')
  const yes = `${label} ${does[action]} ${row}`
  // PostgreSQL evaluated a permitting policy before the failing one, and may choose the other order at any time.
  if (outcomes[failing] === 'error' && actual === true)
    return `${yes}, but ${describeStage(verdicts, failing)}`
  if (failing !== -1) return `${no}: ${describeStage(verdicts, failing)}`
  if (fault !== undefined) return `${no}: ${fault}`
  if (stages.length === 0) return `${yes}: row-level security is off`
  return `${yes}: ${permitting(verdicts, stages.length - 1)}`
}

function permitting({ stages, verdicts, action }: RowVerdicts, last: number): string {
  const index = action === 'select' ? 0 : Math.max(0, last - 1)
  const names = (stages[index]?.policies ?? []).flatMap(({ name, permissive }, position) =>
    permissive && verdicts[index]?.[position]?.value === true ? [`"${name}"`] : [],
  )
  return `${names.join(', ')} ${names.length === 1 ? 'permits' : 'permit'} it`
}

function describeStage({ stages, verdicts, closest }: RowVerdicts, index: number): string {
  const stage = stages[index]
  if (stage === undefined) return 'it is not evaluated'
  const command = stage.command.toLowerCase()
  const purpose = stages.length === 1 ? '' : ` (to ${stage.name})`
  const values = verdicts[index] ?? []
  const failed = stage.policies.flatMap(({ name }, position) => {
    const { value, message, sqlState } = values[position] ?? {}
    return value === 'error' ? [`the policy "${name}" fails: ${message} (SQLSTATE ${sqlState})`] : []
  })
  if (failed[0] !== undefined) return failed[0]
  if (!stage.policies.some(({ permissive }) => permissive)) {
    return `no permissive policy for ${command}${purpose} applies to this caller`
  }
  if (stage.policies.some(({ permissive }, position) => permissive && values[position]?.value === true)) {
    const restricting = stage.policies.flatMap(({ name, permissive }, position) => {
      const value = values[position]?.value
      return permissive || value === true ? [] : [`"${name}" is ${String(value)}`]
    })
    return `the restrictive policy ${restricting.join(', ')}${purpose}`
  }
  const hint =
    closest === undefined ? '' : `; the closest is "${closest.policy}": ${describePart(closest.part)}`
  return `no policy for ${command}${purpose} permits it${hint}`
}

/** Describes the first part that is not true. */
function describePart(part: ValuedPart): string {
  const failing = part.operator === 'and' ? part.terms.find(({ value }) => value !== true) : undefined
  if (failing !== undefined) return describePart(failing)
  const line = part.text.replaceAll(/\s+/g, ' ')
  const text = line.length > 200 ? `${line.slice(0, 200)}…` : line
  return `${text} is ${String(part.value)}`
}

/** Returns how near an expression is to being true: the fraction of AND terms that are. Pure. */
export function nearness({ operator, terms, value }: ValuedPart): number {
  if (value === true) return 1
  if (terms.length === 0 || operator === 'not') return 0
  const each = terms.map(nearness)
  return operator === 'or' ? Math.max(...each) : each.reduce((sum, one) => sum + one, 0) / each.length
}
