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

export interface Judged {
  readonly label: string
  readonly action: Action
  readonly id: string | undefined
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  /** By stage. */
  readonly outcomes: readonly (boolean | 'error' | undefined)[]
  /** By stage and policy. */
  readonly verdicts: readonly (readonly Verdict[])[]
  /** Of the first stage that does not pass: the policy that comes closest, taken apart. */
  readonly closest?: { readonly policy: string; readonly part: ValuedPart } | undefined
  /** What the database answered. */
  readonly actual?: boolean | undefined
  /** What stops the row beside the policies: a constraint, a trigger. */
  readonly fault?: string | undefined
}

/** Says in words what becomes of a row. Pure. */
export function describeRow(judged: Judged): string {
  const { label, action, id, gates, stages, outcomes, actual, fault } = judged
  const row = id === undefined ? (action === 'insert' ? 'the row' : 'this row') : `row ${id}`
  const no = `${label} ${doesNot[action]} ${row}`
  const stopped = stopping(gates)
  if (stopped !== undefined) return `${no}: ${stopped.sentence}`
  const failing = outcomes.findIndex((outcome) => outcome === false || outcome === 'error')
  const yes = `${label} ${does[action]} ${row}`
  // PostgreSQL came to a policy that permits before the one that fails, which it may do otherwise at any time.
  if (outcomes[failing] === 'error' && actual === true) return `${yes}, but ${describeStage(judged, failing)}`
  if (failing !== -1) return `${no}: ${describeStage(judged, failing)}`
  if (fault !== undefined) return `${no}: ${fault}`
  if (stages.length === 0) return `${yes}: row-level security is off`
  return `${yes}: ${permitting(judged, stages.length - 1)}`
}

function permitting({ stages, verdicts, action }: Judged, last: number): string {
  const index = action === 'select' ? 0 : Math.max(0, last - 1)
  const names = (stages[index]?.policies ?? []).flatMap(({ name, permissive }, place) =>
    permissive && verdicts[index]?.[place]?.value === true ? [`"${name}"`] : [],
  )
  return `${names.join(', ')} ${names.length === 1 ? 'permits' : 'permit'} it`
}

function describeStage({ stages, verdicts, closest }: Judged, index: number): string {
  const stage = stages[index]
  if (stage === undefined) return 'it is not evaluated'
  const command = stage.command.toLowerCase()
  const purpose = stages.length === 1 ? '' : ` (to ${stage.name})`
  const values = verdicts[index] ?? []
  const failed = stage.policies.flatMap(({ name }, place) => {
    const { value, message, sqlState } = values[place] ?? {}
    return value === 'error' ? [`the policy "${name}" fails: ${message} (SQLSTATE ${sqlState})`] : []
  })
  if (failed[0] !== undefined) return failed[0]
  if (!stage.policies.some(({ permissive }) => permissive)) {
    return `no permissive policy for ${command}${purpose} applies to this caller`
  }
  if (stage.policies.some(({ permissive }, place) => permissive && values[place]?.value === true)) {
    const restricting = stage.policies.flatMap(({ name, permissive }, place) => {
      const value = values[place]?.value
      return permissive || value === true ? [] : [`"${name}" is ${String(value)}`]
    })
    return `the restrictive policy ${restricting.join(', ')}${purpose}`
  }
  const hint =
    closest === undefined ? '' : `; the closest is "${closest.policy}": ${describePart(closest.part)}`
  return `no policy for ${command}${purpose} permits it${hint}`
}

/** The first part that is not true. */
function describePart(part: ValuedPart): string {
  const failing = part.operator === 'and' ? part.terms.find(({ value }) => value !== true) : undefined
  if (failing !== undefined) return describePart(failing)
  const line = part.text.replaceAll(/\s+/g, ' ')
  const text = line.length > 200 ? `${line.slice(0, 200)}…` : line
  return `${text} is ${String(part.value)}`
}

/** How near an expression is to being true: the share of what AND joins that is. Pure. */
export function nearness({ operator, terms, value }: ValuedPart): number {
  if (value === true) return 1
  if (terms.length === 0 || operator === 'not') return 0
  const each = terms.map(nearness)
  return operator === 'or' ? Math.max(...each) : each.reduce((sum, one) => sum + one, 0) / each.length
}
