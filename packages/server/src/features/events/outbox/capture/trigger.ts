import { type ChangeAction, captureTriggerName } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/** What a trigger of ours logs. */
export type CapturedAction = ChangeAction | 'truncate'

/** A trigger as it is to be on a table. */
export interface EventTrigger {
  readonly action: CapturedAction
  readonly name: string
  /** In the schema `basalt`. */
  readonly function: string
  readonly arguments: readonly string[]
}

/** A table that may have triggers: a collection, or a partition of one. */
export interface CapturedTable {
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** Under which its changes are logged. */
  readonly collection: string
  readonly isPartition: boolean
  readonly isPartitioned: boolean
  /** True if a column needs a value of its own in JSON, or its type is the operator's. */
  readonly isCareful: boolean
  /** Columns of the primary key. */
  readonly key: readonly string[]
  /** Why it can have none; with the role whose rights are missing. */
  readonly obstacle: { readonly reason: string; readonly owner: string | undefined } | undefined
  /** The role that makes triggers. */
  readonly login: string
  readonly triggers: readonly StandingTrigger[]
}

export interface StandingTrigger {
  readonly name: string
  readonly function: string
  /** Each ends in a zero byte, in hexadecimal, as PostgreSQL keeps them. */
  readonly arguments: string
  readonly isEnabled: boolean
}

const operations = {
  create: { function: 'capture_inserts', verb: sql`insert`, tables: sql`referencing new table as new_rows` },
  update: {
    function: 'capture_updates',
    verb: sql`update`,
    tables: sql`referencing new table as new_rows old table as old_rows`,
  },
  delete: { function: 'capture_deletes', verb: sql`delete`, tables: sql`referencing old table as old_rows` },
  truncate: { function: 'capture_truncates', verb: sql`truncate`, tables: sql.empty },
} as const satisfies Readonly<Record<CapturedAction, object>>

export const capturedActions = Object.keys(operations) as readonly CapturedAction[]

/** Functions of the triggers. */
export const captureFunctions = Object.values(operations).map((operation) => operation.function)

/** That of the triggers of `basalt events capture`, which are replaced. */
export const earlierCaptureFunction = 'capture_changes'

/** The trigger that logs an action of the table. */
export function triggerFor(table: CapturedTable, action: CapturedAction): EventTrigger {
  const { isPartition, isPartitioned, isCareful, collection, key } = table
  const needs = `${isCareful ? 'c' : ''}${isPartition ? 'p' : ''}${isPartitioned ? 'm' : ''}`
  return {
    action,
    name: captureTriggerName(action),
    function: operations[action].function,
    // The name of a table by itself: it may be renamed.
    arguments: [isPartition ? collection : '', needs, ...key],
  }
}

/** Returns whether the trigger is there as it is to be. One that was disabled is left to who did so. */
export function isStanding(trigger: EventTrigger, { triggers }: CapturedTable): boolean {
  const expected = Buffer.from(trigger.arguments.map((argument) => `${argument}\0`).join('')).toString('hex')
  return triggers.some(
    (standing) =>
      standing.name === trigger.name &&
      (!standing.isEnabled || (standing.function === trigger.function && standing.arguments === expected)),
  )
}

export function compileCreate({ schema, name }: CapturedTable, trigger: EventTrigger): Sql {
  const { verb, tables } = operations[trigger.action]
  const values = trigger.arguments.map((argument) => sql.literal(argument))
  return sql`
    create or replace trigger ${sql.id(trigger.name)} after ${verb} on ${sql.id(schema, name)} ${tables}
    for each statement execute function ${sql.id('basalt', trigger.function)}(${sql.join(values)})`
}

export function compileDrop({ schema, name }: CapturedTable, trigger: Pick<EventTrigger, 'name'>): Sql {
  return sql`drop trigger if exists ${sql.id(trigger.name)} on ${sql.id(schema, name)}`
}
