import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { findCapturedTables } from './captured-tables.ts'
import {
  type CapturedAction,
  type CapturedTable,
  capturedActions,
  compileCreate,
  compileDrop,
  type EventTrigger,
  isInstalled,
  triggerFor,
} from './trigger.ts'

/**
 * Milliseconds that a trigger change waits for the lock of a table. Later writers wait for the change, and the
 * operator’s DDL goes first.
 */
const lockTimeoutMs = 100

/** SQLSTATEs of a table that is in use or that another node is changing. */
const lockedCodes = new Set(['55P03', '40P01', '57014', '40001', 'XX000'])
/** SQLSTATEs of a table that was renamed or dropped. The catalog will report it. */
const missingCodes = new Set(['42P01', '3F000', '42704'])

export type Outcome = 'done' | 'locked' | 'missing'

/** Reads the current tables. Returns undefined while one of them is locked. */
export async function readTables(
  database: SystemDatabase,
  oids: readonly string[],
): Promise<readonly CapturedTable[] | undefined> {
  try {
    return await database.transaction(async (transaction) => {
      await transaction.count(sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`)
      return await findCapturedTables(transaction, oids)
    })
  } catch (error) {
    if (lockedCodes.has(codeOf(error) ?? '')) return undefined
    throw error
  }
}

/** Triggers to create or to drop, never both. Dropping a trigger takes a lock that also blocks readers. */
export interface TableChange {
  readonly table: CapturedTable
  readonly create: readonly EventTrigger[]
  readonly drop: readonly CapturedAction[]
}

/** Returns the changes after which the table has triggers for exactly these actions. */
export function changesOf(
  table: CapturedTable,
  actions: ReadonlySet<CapturedAction>,
): readonly TableChange[] {
  const wanted = table.obstacle === undefined ? capturedActions.filter((action) => actions.has(action)) : []
  const triggers = wanted.map((action) => triggerFor(table, action))
  const names = new Set(triggers.map(({ name }) => name))
  const create = triggers.filter((trigger) => !isInstalled(trigger, table))
  const drop = capturedActions.filter((action) => {
    const { name } = triggerFor(table, action)
    return !names.has(name) && table.triggers.some((installed) => installed.name === name)
  })
  return [
    ...(create.length === 0 ? [] : [{ table, create, drop: [] }]),
    ...(drop.length === 0 ? [] : [{ table, create: [], drop }]),
  ]
}

/**
 * Creates or drops triggers of a table, in a transaction of its own that waits only briefly for locks.
 *
 * @param isOptedOut true if triggers are dropped although the table has listeners
 */
export async function applyChange(
  database: SystemDatabase,
  { table, create, drop }: TableChange,
  isOptedOut: boolean,
): Promise<Outcome> {
  try {
    return await database.transaction(async (transaction) => {
      await transaction.count(
        sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true), set_config('search_path', '', true)`,
      )
      const { locked } = await transaction.one<{ locked: boolean }>(sql`
        select pg_try_advisory_xact_lock(hashtextextended('basalt event triggers ' || ${table.oid}, 0)) as locked`)
      if (!locked) return 'locked'
      const dropped = isOptedOut ? drop : await withoutInterest(transaction, table, drop)
      // Takes the strongest lock first. Otherwise the operator’s DDL that waits for it would deadlock with a weaker
      // lock.
      const mode = dropped.length > 0 ? sql`access exclusive` : sql`share row exclusive`
      if (create.length + dropped.length > 0) {
        await transaction.count(sql`lock table only ${sql.id(table.schema, table.name)} in ${mode} mode`)
      }
      for (const trigger of create) await transaction.count(compileCreate(table, trigger))
      for (const action of dropped) await transaction.count(compileDrop(table, triggerFor(table, action)))
      if (create.length > 0) await transaction.count(markStreams(table))
      return dropped.length === drop.length ? 'done' : 'locked'
    })
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (lockedCodes.has(code)) return 'locked'
    if (missingCodes.has(code)) return 'missing'
    throw error
  }
}

/** Removes actions that have a listener. Another node may know of a listener that this one does not know yet. */
async function withoutInterest(
  transaction: Queryable,
  { collection }: CapturedTable,
  actions: readonly CapturedAction[],
): Promise<readonly CapturedAction[]> {
  if (actions.length === 0) return []
  const rows = await transaction.many<{ action: CapturedAction }>(sql`
    select a.action from unnest(${actions}::text[]) a (action)
    where not exists (
      select from basalt.event_interests i
      where a.action = any (i.actions) and (i.tables = '{}' or ${collection} = any (i.tables))
    )`)
  return rows.map(({ action }) => action)
}

/** Marks the streams of the table. Open streams may have missed writes that bypassed the API. */
function markStreams({ collection }: CapturedTable): Sql {
  return sql`
    update basalt.realtime_tables set logged_since = pg_snapshot_xmax(pg_current_snapshot())
    where table_name = ${collection} and logged_since is not null`
}
