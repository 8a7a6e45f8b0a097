import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Column, Relation } from '../../../../database/catalog/model.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { maySelect } from '../../../data/collections/index.ts'
import type { Audience } from './audience.ts'
import { compileRestricted } from './decision-statements.ts'
import type { LogEvent } from './event.ts'
import { type Row, rowsOf } from './event-rows.ts'
import type { Filter } from './filter.ts'
import type { HeldSnapshot } from './held-snapshots.ts'
import { findPassing, type Passing } from './passing.ts'
import { ReadableRows } from './readable-rows.ts'
import { findStreamed } from './streamed.ts'

/** What an audience receives of one event. */
export interface Message {
  /** Of the event in its batch. */
  readonly index: number
  /** `{"action":…,"table":…,"record":…}`, in one line. */
  readonly body: string
}

/** What an audience receives of a batch. */
export interface Selection {
  readonly messages: readonly Message[]
  /** Something could not be decided, and was left out. */
  readonly hasGap: boolean
}

/** Events to decide about, with what is the same for all identities. */
export interface Candidates {
  /** By the index of the event. */
  readonly rows: readonly (readonly Row[])[]
  readonly byTable: ReadonlyMap<string, readonly Row[]>
  /** Tables with events of which it cannot be decided who may receive them. */
  readonly undecidable: ReadonlySet<string>
  readonly passing: Passing
  /** The state before the events; undefined when it cannot be read. */
  readonly before: HeldSnapshot | undefined
}

export interface EventSelectorDeps {
  readonly log: Logger
  readonly live: LiveCatalog
  readonly system: SystemDatabase
  readonly user: UserDatabase
}

/**
 * Decides who receives what. A row belongs to an audience if the policies let its identity read it, as it stood in the
 * event, and the filter of the audience takes it. Delivered are:
 * - a new row that belongs to it,
 * - a change of a row it may read, when the filter takes the row as it is or, if it could read it, as it was,
 * - the removal of a row that belonged to it, and with it a change after which it may no longer read it.
 *
 * A policy that reads other tables is evaluated in two states of them for a row as it was: now, and as they were at the
 * snapshot before the events, as what made the row visible may have been deleted with it or after it.
 *
 * What a filter or policy fails on is not delivered, nor what only the state before could decide when it can no longer
 * be read, nor a record that lacks columns; the audience receives a gap.
 */
export class EventSelector {
  readonly #deps: EventSelectorDeps
  readonly #readable: ReadableRows

  constructor(deps: EventSelectorDeps) {
    this.#deps = deps
    this.#readable = new ReadableRows(deps.user, deps.log)
  }

  /** @param audiences all that will be selected for */
  prepare(
    events: readonly LogEvent[],
    audiences: Iterable<Audience>,
    before: HeldSnapshot | undefined,
  ): Candidates {
    const { live, system, log } = this.#deps
    const rows = events.map(rowsOf)
    const byTable = Map.groupBy(rows.flat(), ({ event }) => event.table)
    const passing = findPassing({ live, database: system, log }, byTable, audiences)
    const undecidable = new Set(events.filter(({ isGap }) => isGap).map(({ table }) => table))
    return { rows, byTable, undecidable, passing, before }
  }

  /**
   * What audiences of one identity receive, in the order of the events.
   *
   * @throws StatementFailed, ConnectionLost, PoolExhausted while the database cannot say
   */
  async select(
    candidates: Candidates,
    audiences: readonly Audience[],
  ): Promise<ReadonlyMap<Audience, Selection>> {
    const scope = audiences[0]?.scope
    if (scope === undefined) return new Map()
    const catalog = this.#deps.live.current
    const taken = await Promise.all(audiences.map((audience) => takenBy(audience, catalog, candidates)))
    const concerned = new Set(taken.flatMap(({ rows }) => [...rows].map(({ event }) => event)))
    const undecided = new Set(candidates.undecidable)
    const bodies = new Map<Row, string>()
    await Promise.all(
      [...candidates.byTable].map(async ([table, all]) => {
        const rows = all.filter(({ event }) => concerned.has(event))
        const relation = findStreamed(catalog, table)
        if (rows.length === 0 || relation === undefined) return
        const { before } = candidates
        const onUndecided = () => undecided.add(table)
        const readable = await this.#readable.find(relation, scope, rows, before, onUndecided)
        await this.#describe(relation, scope, readable, bodies)
      }),
    )
    return new Map(
      audiences.map((audience, index) => {
        const own = taken[index] ?? { rows: new Set(), undecided: [] }
        const hasGap = [...own.undecided, ...undecided].some((table) => audience.subscriptions.has(table))
        return [audience, { messages: choose(candidates, own.rows, bodies), hasGap }]
      }),
    )
  }

  /** What is sent of each row: the record as it is, or the key of one that is to be deleted. */
  async #describe(
    relation: Relation,
    scope: CallerScope,
    rows: readonly Row[],
    bodies: Map<Row, string>,
  ): Promise<void> {
    const { collection: table } = relation
    const columns = relation.columns.filter((column) => maySelect(column, scope.kind))
    const current = rows.filter(({ isOld }) => !isOld)
    const records = current.map(({ event }) => event.record)
    const isWhole = columns.length === relation.columns.length
    const shown = isWhole ? records : await this.#restrict(records, columns)
    current.forEach((row, index) => {
      bodies.set(row, bodyOf(row.event.action, table, shown[index] ?? '{}'))
    })
    for (const row of rows)
      if (row.isOld) bodies.set(row, bodyOf('delete', table, keyOf(row.event, relation, columns)))
  }

  async #restrict(records: readonly string[], columns: readonly Column[]): Promise<string[]> {
    if (records.length === 0) return []
    const names = columns.map(({ name }) => name)
    const rows = await this.#deps.system.many<{ record: string }>(
      compileRestricted(sql`${`[${records.join()}]`}`, names),
    )
    return rows.map(({ record }) => record)
  }
}

/** @param bodies of the rows that the audience may read */
function choose(
  { rows }: Candidates,
  taken: ReadonlySet<Row>,
  bodies: ReadonlyMap<Row, string>,
): readonly Message[] {
  return rows.flatMap((ofEvent, index): Message[] => {
    const current = ofEvent.find((row) => !row.isOld && bodies.has(row))
    const lost = ofEvent.find((row) => row.isOld && bodies.has(row) && taken.has(row))
    const isTheirs = lost !== undefined || (current !== undefined && taken.has(current))
    const shown = current ?? lost
    const body = shown && isTheirs ? bodies.get(shown) : undefined
    return body === undefined ? [] : [{ index, body }]
  })
}

/** The rows that the audience listens to, whether it may read them or not, and tables of which that cannot be said. */
async function takenBy(
  { scope, subscriptions }: Audience,
  catalog: Catalog,
  { byTable, passing }: Candidates,
): Promise<{ readonly rows: ReadonlySet<Row>; readonly undecided: readonly string[] }> {
  const taken: Row[] = []
  const undecided: string[] = []
  for (const [table, rows] of byTable) {
    if (!subscriptions.has(table)) continue
    const filter = subscriptions.get(table)
    const found = filter === undefined ? rows : await passingRows(table, filter)
    if (found === undefined) undecided.push(table)
    else taken.push(...found)
  }
  return { rows: new Set(taken), undecided }

  /** A filter on a column that callers may no longer read would still reveal what it holds. */
  async function passingRows(table: string, filter: Filter): Promise<Iterable<Row> | undefined> {
    const relation = findStreamed(catalog, table)
    const isAllowed = filter.conditions.every(({ column: name }) => {
      const column = relation?.column.get(name)
      return scope.kind === 'unrestricted' || (column !== undefined && maySelect(column, scope.kind))
    })
    return isAllowed ? await passing(table, filter) : undefined
  }
}

/** The primary key as texts, as far as the caller may read it. */
function keyOf({ key, oldKey }: LogEvent, { primaryKey }: Relation, readable: readonly Column[]): string {
  const values = oldKey ?? key ?? []
  const members = primaryKey.flatMap((column, place) =>
    readable.includes(column) ? [[column.name, values[place]] as const] : [],
  )
  return JSON.stringify(Object.fromEntries(members))
}

/** A `json` column keeps the line breaks of what was written; outside of strings they mean nothing. */
function bodyOf(action: LogEvent['action'], table: string, record: string): string {
  return `{"action":"${action}","table":${JSON.stringify(table)},"record":${record.replace(/[\r\n]+/g, ' ')}}`
}
