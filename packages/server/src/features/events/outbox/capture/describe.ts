import type { Catalog } from '../../../../database/catalog/model.ts'
import { mayHaveTriggers } from '../../../../database/change-log.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { findCapturedTables } from './captured-tables.ts'
import { type CapturedAction, capturedActions, triggerFor } from './trigger.ts'

/** A collection that something listens to, and what logs its changes. */
export interface CapturedCollection {
  readonly collection: string
  /** That something listens to. */
  readonly actions: readonly CapturedAction[]
  /** Why only changes by the API are events; undefined where triggers log all of them. */
  readonly apiOnly: string | undefined
}

/** @param isEnabled `events.capture` */
export async function describeCapture(
  database: Queryable,
  catalog: Catalog,
  isEnabled: boolean,
): Promise<readonly CapturedCollection[]> {
  const interests = await database.many<{ tables: readonly string[]; actions: readonly CapturedAction[] }>(
    sql`select tables, actions from basalt.event_interests`,
  )
  const listened = [...catalog.relations.values()].flatMap((relation) => {
    if (relation.kind !== 'table' && relation.kind !== 'partitioned_table') return []
    const { collection } = relation
    const concerned = interests.filter(({ tables }) => tables.length === 0 || tables.includes(collection))
    const wanted = new Set(concerned.flatMap(({ actions }) => actions))
    return wanted.size === 0
      ? []
      : [{ relation, actions: capturedActions.filter((each) => wanted.has(each)) }]
  })
  const tables = await findCapturedTables(
    database,
    listened.map(({ relation }) => relation.oid),
  )
  return listened.map(({ relation, actions }) => {
    const table = tables.find(({ oid, isPartition }) => oid === relation.oid && !isPartition)
    const isWhole = actions.every((action) =>
      table?.triggers.some(({ name, isEnabled }) => isEnabled && name === triggerFor(table, action).name),
    )
    const reason = !isEnabled
      ? 'events.capture is off'
      : !mayHaveTriggers(relation)
        ? 'its comment holds @events off'
        : table === undefined
          ? 'it is a partition'
          : (table.obstacle ?? 'its triggers are yet to come, or were disabled')
    return {
      collection: relation.collection,
      actions,
      apiOnly: isEnabled && isWhole && mayHaveTriggers(relation) ? undefined : reason,
    }
  })
}
