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
  isStanding,
  triggerFor,
} from './trigger.ts'

/** A trigger waits so long for a table: writers wait behind it, and DDL of the operator goes first. */
const lockTimeoutMs = 100

/** The table is in use, or another node is at it. */
const busyCodes = new Set(['55P03', '40P01', '57014', '40001', 'XX000'])
/** The table has been renamed or dropped: the catalog is about to say so. */
const goneCodes = new Set(['42P01', '3F000', '42704'])

export type Outcome = 'done' | 'busy' | 'gone'

/** The tables as they are; undefined while one of them is locked. */
export async function lookAtTables(
  database: SystemDatabase,
  oids: readonly string[],
): Promise<readonly CapturedTable[] | undefined> {
  try {
    return await database.transaction(async (transaction) => {
      await transaction.count(sql`select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)`)
      return await findCapturedTables(transaction, oids)
    })
  } catch (error) {
    if (busyCodes.has(codeOf(error) ?? '')) return undefined
    throw error
  }
}

/** One of the two: to remove a trigger takes a lock that keeps readers away, too. */
export interface TableChange {
  readonly table: CapturedTable
  readonly create: readonly EventTrigger[]
  readonly drop: readonly CapturedAction[]
}

/** What has to be done so that the table has triggers for these actions and no others. */
export function changesOf(
  table: CapturedTable,
  actions: ReadonlySet<CapturedAction>,
): readonly TableChange[] {
  const wanted = table.obstacle === undefined ? capturedActions.filter((action) => actions.has(action)) : []
  const triggers = wanted.map((action) => triggerFor(table, action))
  const names = new Set(triggers.map(({ name }) => name))
  const create = triggers.filter((trigger) => !isStanding(trigger, table))
  const drop = capturedActions.filter((action) => {
    const { name } = triggerFor(table, action)
    return !names.has(name) && table.triggers.some((standing) => standing.name === name)
  })
  return [
    ...(create.length === 0 ? [] : [{ table, create, drop: [] }]),
    ...(drop.length === 0 ? [] : [{ table, create: [], drop }]),
  ]
}

/**
 * Puts triggers on a table and removes others, in a transaction of its own that waits for no lock for long.
 *
 * @param isOptedOut whether triggers go although something listens
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
      if (!locked) return 'busy'
      const dropped = isOptedOut ? drop : await withoutInterest(transaction, table, drop)
      // The strongest lock first: DDL of the operator that waits for it would be in a deadlock with a weaker one.
      const mode = dropped.length > 0 ? sql`access exclusive` : sql`share row exclusive`
      if (create.length + dropped.length > 0) {
        await transaction.count(sql`lock table only ${sql.id(table.schema, table.name)} in ${mode} mode`)
      }
      for (const trigger of create) await transaction.count(compileCreate(table, trigger))
      for (const action of dropped) await transaction.count(compileDrop(table, triggerFor(table, action)))
      if (create.length > 0) await transaction.count(moveStreams(table))
      return dropped.length === drop.length ? 'done' : 'busy'
    })
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (busyCodes.has(code)) return 'busy'
    if (goneCodes.has(code)) return 'gone'
    throw error
  }
}

/** Another node may know of a listener that this one does not know of yet. */
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

/** Streams that listen already may have missed what was written past the API. */
function moveStreams({ collection }: CapturedTable): Sql {
  return sql`
    update basalt.realtime_tables set logged_since = pg_snapshot_xmax(pg_current_snapshot())
    where table_name = ${collection} and logged_since is not null`
}
