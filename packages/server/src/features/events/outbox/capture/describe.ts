import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { mayHaveTriggers } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { findCapturedTables } from './captured-tables.ts'
import { type CapturedAction, type CapturedTable, capturedActions, triggerFor } from './trigger.ts'

/** Collection with a listener, and the component that logs its changes. */
export interface CapturedCollection {
  readonly collection: string
  /** Actions that have a listener. */
  readonly actions: readonly CapturedAction[]
  /** Reason why only API changes are events; undefined if triggers log all changes. */
  readonly apiOnly: CaptureGap | undefined
}

export interface CaptureGap {
  readonly reason: string
  /**
   * Kind of gap. `intended`: the operator chose it. `pending`: the triggers will be installed soon. `obstacle`: an
   * administrator has to act.
   */
  readonly kind: 'intended' | 'pending' | 'obstacle'
  /** Statement that removes an obstacle, if one is known. */
  readonly remedy: Sql | undefined
}

export interface CaptureOptions {
  /** True if `events.capture` is on. */
  readonly isEnabled: boolean
  /** Failed attempts of a running server, by collection. */
  readonly failures?: ReadonlyMap<string, string>
}

/** Describes how the changes of each collection with a listener are logged. */
export async function describeCapture(
  database: Queryable,
  catalog: Catalog,
  { isEnabled, failures }: CaptureOptions,
): Promise<readonly CapturedCollection[]> {
  const interests = await database.many<{ tables: readonly string[]; actions: readonly CapturedAction[] }>(
    sql`select tables, actions from basalt.event_interests`,
  )
  const collections = [...catalog.relations.values()].flatMap((relation) => {
    if (relation.kind !== 'table' && relation.kind !== 'partitioned_table') return []
    const { collection } = relation
    const matching = interests.filter(({ tables }) => tables.length === 0 || tables.includes(collection))
    const actions = new Set(matching.flatMap(({ actions }) => actions))
    return actions.size === 0
      ? []
      : [{ relation, actions: capturedActions.filter((each) => actions.has(each)) }]
  })
  const tables = await findCapturedTables(
    database,
    collections.map(({ relation }) => relation.oid),
  )
  return collections.map(({ relation, actions }) => ({
    collection: relation.collection,
    actions,
    apiOnly: gapOf(relation, isEnabled, tables, (table) =>
      findGap(table, actions, failures?.get(relation.collection)),
    ),
  }))
}

/** Returns the reason why a listener would receive only API changes of a table; undefined if it would receive all. */
export async function findCaptureGap(
  database: Queryable,
  relation: Relation,
  isEnabled: boolean,
): Promise<string | undefined> {
  const tables = await findCapturedTables(database, [relation.oid])
  // The catalog is that of a moment ago, and the table may have been dropped since.
  if (tables.length === 0) return undefined
  const isInstalled = ({ triggers }: CapturedTable, name: string) =>
    triggers.some((trigger) => trigger.name === name)
  return gapOf(relation, isEnabled, tables, (table) => {
    const actions = capturedActions.filter((action) => isInstalled(table, triggerFor(table, action).name))
    return findGap(table, actions, undefined)
  })?.reason
}

function gapOf(
  relation: Relation,
  isEnabled: boolean,
  tables: readonly CapturedTable[],
  find: (table: CapturedTable) => CaptureGap | undefined,
): CaptureGap | undefined {
  if (!isEnabled) return intended('events.capture is off')
  if (!mayHaveTriggers(relation)) return intended(reasonOf(relation))
  const table = tables.find(({ oid, isPartition }) => oid === relation.oid && !isPartition)
  return table === undefined ? intended('it is a partition') : find(table)
}

function reasonOf({ isOnWorkers, isOfExtension }: Relation): string {
  if (isOnWorkers) return 'Citus stores its rows on workers'
  return isOfExtension ? 'it belongs to an extension' : 'its comment holds @events off'
}

const intended = (reason: string): CaptureGap => ({ reason, kind: 'intended', remedy: undefined })

function findGap(
  table: CapturedTable,
  actions: readonly CapturedAction[],
  failure: string | undefined,
): CaptureGap | undefined {
  if (table.obstacle !== undefined) {
    const { reason, owner } = table.obstacle
    const remedy = owner === undefined ? undefined : sql`grant ${sql.id(owner)} to ${sql.id(table.login)}`
    return { reason, kind: 'obstacle', remedy }
  }
  const triggers = actions.map((action) => {
    const { name } = triggerFor(table, action)
    return table.triggers.find((trigger) => trigger.name === name)
  })
  const disabled = triggers.find((trigger) => trigger?.isEnabled === false)
  if (disabled !== undefined) {
    const relation = sql.id(table.schema, table.name)
    const remedy = sql`alter table ${relation} enable trigger ${sql.id(disabled.name)}`
    return { reason: `its trigger ${disabled.name} is disabled`, kind: 'obstacle', remedy }
  }
  if (triggers.every((trigger) => trigger !== undefined)) return undefined
  return failure === undefined
    ? { reason: 'its triggers are not installed yet', kind: 'pending', remedy: undefined }
    : { reason: failure, kind: 'obstacle', remedy: undefined }
}
