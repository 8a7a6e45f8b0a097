import type { Catalog } from '../../../../database/catalog/model.ts'
import { mayHaveTriggers } from '../../../../database/change-log.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { findCapturedTables } from './captured-tables.ts'
import { type CapturedAction, type CapturedTable, capturedActions, triggerFor } from './trigger.ts'

/** A collection that something listens to, and what logs its changes. */
export interface CapturedCollection {
  readonly collection: string
  /** That something listens to. */
  readonly actions: readonly CapturedAction[]
  /** Why only changes by the API are events; undefined where triggers log all of them. */
  readonly apiOnly: CaptureGap | undefined
}

export interface CaptureGap {
  readonly reason: string
  /** `meant`: the operator has said so; `passing`: triggers are about to come; `obstacle`: an administrator has to act. */
  readonly kind: 'meant' | 'passing' | 'obstacle'
  /** Remedy of an obstacle, if one is known. */
  readonly remedy: Sql | undefined
}

export interface CaptureOptions {
  /** `events.capture`. */
  readonly isEnabled: boolean
  /** Failures of attempts of a running server, by collection. */
  readonly failures?: ReadonlyMap<string, string>
}

/** Returns what logs the changes of each collection that something listens to. */
export async function describeCapture(
  database: Queryable,
  catalog: Catalog,
  { isEnabled, failures }: CaptureOptions,
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
    return {
      collection: relation.collection,
      actions,
      apiOnly: !isEnabled
        ? meant('events.capture is off')
        : !mayHaveTriggers(relation)
          ? meant(relation.isOfExtension ? 'it belongs to an extension' : 'its comment holds @events off')
          : table === undefined
            ? meant('it is a partition')
            : findGap(table, actions, failures?.get(relation.collection)),
    }
  })
}

const meant = (reason: string): CaptureGap => ({ reason, kind: 'meant', remedy: undefined })

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
    ? { reason: 'its triggers are yet to come', kind: 'passing', remedy: undefined }
    : { reason: failure, kind: 'obstacle', remedy: undefined }
}
