import { createHash } from 'node:crypto'
import { renderConstants, type Sql } from '../../../database/sql.ts'

export const severities = ['error', 'warning', 'info'] as const
/** `error`: data may be open to whom it is not meant for; `warning`: slow, or soon a fault; `info`: worth a look. */
export type Severity = (typeof severities)[number]

export const groups = ['access', 'indexes', 'health'] as const
export type AdviceGroup = (typeof groups)[number]

/** What advice of one kind says. */
export interface Rule {
  readonly name: string
  readonly group: AdviceGroup
  readonly title: string
  /** Why, in a sentence or two. */
  readonly explanation: string
}

/** Something to mend. */
export interface Finding {
  readonly rule: Rule
  readonly severity: Severity
  /** As SQL names it: `public.note`, or a policy, a function, an index with its table. */
  readonly object: string
  /** What was found, where the object alone does not say it. */
  readonly detail?: string
  /** SQL that resolves the finding. */
  readonly statement?: string
  /** A command instead, where no statement does it. */
  readonly command?: string
}

export interface Dismissal {
  readonly reason: string | null
  readonly by: string
  readonly at: string
  /** Null: for good. */
  readonly until: string | null
}

/** A finding as administrators see it. */
export interface Advice {
  readonly id: string
  readonly rule: string
  readonly group: AdviceGroup
  readonly severity: Severity
  readonly title: string
  readonly object: string
  readonly detail: string | null
  readonly explanation: string
  readonly statement: string | null
  readonly command: string | null
  readonly docs: string
  readonly dismissal: Dismissal | null
}

/** The same for the same rule and object, on every node and after a restart. */
export function adviceId({ rule, object }: Pick<Finding, 'rule' | 'object'>): string {
  return createHash('sha256').update(`${rule.name} ${object}`).digest('hex').slice(0, 24)
}

/** A statement as a person runs it, in one line. What it holds of texts stays as it is. */
export function write(statement: Sql): string {
  const quotedOrBreak = /('(?:[^']|'')*'|"(?:[^"]|"")*")|\s*\n\s*/g
  const line = renderConstants(statement)
    .trim()
    .replace(quotedOrBreak, (_whole, quoted: string | undefined) => quoted ?? ' ')
  return `${line};`
}
