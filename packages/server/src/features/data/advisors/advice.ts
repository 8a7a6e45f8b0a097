import { createHash } from 'node:crypto'
import { renderConstants, type Sql } from '../../../database/sql.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

export const severities = ['error', 'warning', 'info'] as const
/**
 * Severity of advice. `error`: data may be open to unintended callers. `warning`: slow, or soon a fault. `info`:
 * worth checking.
 */
export type Severity = (typeof severities)[number]

export const groups = ['access', 'indexes', 'health'] as const
export type AdviceGroup = (typeof groups)[number]

/** Text for advice of one kind. */
export interface Rule {
  readonly name: string
  readonly group: AdviceGroup
  readonly title: string
  /** Reason, in a sentence or two. */
  readonly explanation: string
}

/** Problem that should be fixed. */
export interface Finding {
  readonly rule: Rule
  readonly severity: Severity
  /** Object as SQL names it: `public.note`, or a policy, a function, an index with its table. */
  readonly object: string
  /** Detail, where the object alone does not say it. */
  readonly detail?: string
  /** SQL that resolves the finding. */
  readonly statement?: string
  /** Command, where no statement resolves the finding. */
  readonly command?: string
}

/** Finding as administrators see it. */
export const Advice = component(
  'Advice',
  Type.Object({
    id: Type.String({ description: 'Id of the rule and its object; the same on every node.' }),
    rule: Type.String(),
    group: Type.Enum(groups),
    severity: Type.Enum(severities),
    title: Type.String(),
    object: Type.String(),
    detail: nullable(Type.String()),
    explanation: Type.String(),
    statement: nullable(Type.String(), { description: 'SQL that resolves the advice.' }),
    command: nullable(Type.String(), { description: 'Command, where no statement resolves the advice.' }),
    docs: Type.String({ description: 'Page that the server serves.' }),
    dismissal: nullable(
      Type.Object({
        reason: nullable(Type.String()),
        by: Type.String(),
        at: timestamp,
        until: nullable(timestamp, { description: 'End of the dismissal; null if it does not end.' }),
      }),
    ),
  }),
)
export type Advice = Answered<typeof Advice>
export type Dismissal = NonNullable<Advice['dismissal']>

/** Returns an id that is the same for the same rule and object, on every node and after a restart. */
export function adviceId({ rule, object }: Pick<Finding, 'rule' | 'object'>): string {
  return createHash('sha256').update(`${rule.name} ${object}`).digest('hex').slice(0, 24)
}

/** Formats a statement for a person to run, on one line. Its string constants stay unchanged. */
export function write(statement: Sql): string {
  const quotedOrBreak = /('(?:[^']|'')*'|"(?:[^"]|"")*")|\s*\n\s*/g
  const line = renderConstants(statement)
    .trim()
    .replace(quotedOrBreak, (_whole, quoted: string | undefined) => quoted ?? ' ')
  return `${line};`
}
