import { type ChangeAction, captureTriggerName } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'

/** Action that a capture trigger logs. */
export type CapturedAction = ChangeAction | 'truncate'

/** Trigger that a table should have. */
export interface EventTrigger {
  readonly action: CapturedAction
  readonly name: string
  /** Name of a function in the schema `basalt`. */
  readonly function: string
  readonly arguments: readonly string[]
}

/** Table that may have triggers: a collection, or a partition of one. */
export interface CapturedTable {
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** Collection under which its changes are logged. */
  readonly collection: string
  readonly isPartition: boolean
  readonly isPartitioned: boolean
  /** True if a column needs conversion for JSON, or if its type belongs to the operator. */
  readonly isCareful: boolean
  /** Columns of the primary key. */
  readonly key: readonly string[]
  /** Reason why the table can have no triggers, with the role whose rights are missing. */
  readonly obstacle: { readonly reason: string; readonly owner: string | undefined } | undefined
  /** Role that creates triggers. */
  readonly login: string
  readonly triggers: readonly InstalledTrigger[]
}

export interface InstalledTrigger {
  readonly name: string
  readonly function: string
  /** Arguments in hexadecimal, each followed by a zero byte, as PostgreSQL stores them. */
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

/** Functions that the triggers call. */
export const captureFunctions = Object.values(operations).map((operation) => operation.function)

/** Function of the triggers that `basalt events capture` created. Such triggers are replaced. */
export const earlierCaptureFunction = 'capture_changes'

/** Returns the trigger that logs an action of the table. */
export function triggerFor(table: CapturedTable, action: CapturedAction): EventTrigger {
  const { isPartition, isPartitioned, isCareful, collection, key } = table
  const needs = `${isCareful ? 'c' : ''}${isPartition ? 'p' : ''}${isPartitioned ? 'm' : ''}`
  return {
    action,
    name: captureTriggerName(action),
    function: operations[action].function,
    // A table is not named in its own trigger, because it may be renamed.
    arguments: [isPartition ? collection : '', needs, ...key],
  }
}

/** Returns true if the table has the trigger in its current form. A disabled trigger stays disabled. */
export function isInstalled(trigger: EventTrigger, { triggers }: CapturedTable): boolean {
  const expected = Buffer.from(trigger.arguments.map((argument) => `${argument}\0`).join('')).toString('hex')
  return triggers.some(
    (installed) =>
      installed.name === trigger.name &&
      (!installed.isEnabled || (installed.function === trigger.function && installed.arguments === expected)),
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
