import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { maySelect } from '../../../data/collections/index.ts'
import type { Audience } from './audience.ts'
import { CallerDependences } from './caller-dependences.ts'
import type { LogEvent } from './event.ts'
import { describeRows } from './event-bodies.ts'
import { type Row, rowsOf } from './event-rows.ts'
import type { Filter } from './filter.ts'
import { type FindMatches, matchFilters } from './filter-matches.ts'
import type { HeldSnapshot } from './held-snapshots.ts'
import { HelpersChanged, ReadableRows } from './readable-rows.ts'
import { SharedRows } from './shared-rows.ts'
import { findStreamTable } from './stream-table.ts'

/** Message of one event to an audience. */
export interface Message {
  /** Index of the event in its batch. */
  readonly index: number
  /** Body as one line: `{"action":…,"table":…,"record":…}`. */
  readonly body: string
}

/** Messages of a batch to an audience. */
export interface Selection {
  readonly messages: readonly Message[]
  /** True if an event could not be decided and was left out. */
  readonly hasGap: boolean
}

/** Events to decide, with everything that is the same for all identities. */
export interface Candidates {
  /** Rows by the index of the event. */
  readonly rows: readonly (readonly Row[])[]
  readonly byTable: ReadonlyMap<string, readonly Row[]>
  /** Tables with events for which nothing can decide who may receive them. */
  readonly undecidable: ReadonlySet<string>
  /** Tables whose policies treat many callers alike. */
  readonly shared: Map<string, SharedRows>
  /** State before the events; undefined if it cannot be read. */
  readonly before: HeldSnapshot | undefined
}

/** Events to decide, with the matches of the audiences’ filters. */
export interface FilteredCandidates extends Candidates {
  readonly findMatches: FindMatches
  /** Selections shared by audiences without a difference that matters to these events. */
  readonly selections: Map<string, Promise<Selection>>
}

export interface EventSelectorDeps {
  readonly log: Logger
  readonly live: LiveCatalog
  readonly system: SystemDatabase
  readonly user: UserDatabase
}

/**
 * Decides who receives which event. A row belongs to an audience if the policies let its identity read it, as it was in
 * the event, and the filter of the audience matches. These are delivered:
 * - a new row that belongs to it,
 * - a change of a row that it may read, if the filter matches the new version or a readable old version,
 * - the removal of a row that belonged to it,
 * - a change after which it may no longer read the row.
 *
 * For the old version of a row, a policy that reads other tables is evaluated in two states of them: now, and at the
 * snapshot before the events. What made the row visible may have been deleted with it or after it.
 *
 * The audience receives a gap instead of a row on which a filter or policy fails. The same applies to a row that only an
 * unreadable earlier state could decide, and to an incomplete record.
 */
export class EventSelector {
  readonly #deps: EventSelectorDeps
  readonly #readable: ReadableRows
  readonly #dependences: CallerDependences

  constructor(deps: EventSelectorDeps) {
    this.#deps = deps
    this.#readable = new ReadableRows(deps.user, deps.log)
    this.#dependences = new CallerDependences(deps.system, deps.log)
  }

  async prepare(events: readonly LogEvent[], before: HeldSnapshot | undefined): Promise<Candidates> {
    const rows = events.map(rowsOf)
    const byTable = Map.groupBy(rows.flat(), ({ event }) => event.table)
    const undecidable = new Set(events.filter(({ isGap }) => isGap).map(({ table }) => table))
    const shared = new Map<string, SharedRows>()
    const { current } = this.#deps.live
    for (const [table, all] of byTable) {
      const relation = findStreamTable(current, table)
      const found = relation && (await this.#share(relation, all))
      if (found !== undefined) shared.set(table, found)
    }
    return { rows, byTable, undecidable, shared, before }
  }

  /** Evaluates the filters. @param audiences all audiences that will be selected for */
  filter(candidates: Candidates, audiences: Iterable<Audience>): FilteredCandidates {
    const { live, system, log } = this.#deps
    const findMatches = matchFilters({ live, database: system, log }, candidates.byTable, audiences)
    return { ...candidates, findMatches, selections: new Map() }
  }

  /**
   * Selects the events that audiences of one identity receive, in order.
   *
   * @throws StatementFailed, ConnectionLost, PoolExhausted while the database cannot decide
   */
  async select(
    candidates: FilteredCandidates,
    audiences: readonly Audience[],
  ): Promise<ReadonlyMap<Audience, Selection>> {
    try {
      const keys = audiences.map((audience) => commonKey(candidates, audience))
      if (keys.some((key) => key === undefined)) return await this.#select(candidates, audiences)
      const selections = await Promise.all(
        audiences.map((audience, index) => this.#selectCommon(candidates, audience, keys[index] ?? '')),
      )
      return new Map(audiences.map((audience, index) => [audience, selections[index] ?? nothingSelected]))
    } catch (error) {
      if (!(error instanceof HelpersChanged)) throw error
      // The result of one caller says nothing about another one.
      candidates.shared.clear()
      return await this.#select(candidates, audiences)
    }
  }

  /** Selects once for all audiences of the key. */
  #selectCommon(candidates: FilteredCandidates, audience: Audience, key: string): Promise<Selection> {
    const { selections } = candidates
    const known = selections.get(key)
    if (known !== undefined) return known
    const selection = this.#select(candidates, [audience]).then((all) => all.get(audience) ?? nothingSelected)
    selections.set(key, selection)
    // The next attempt queries again.
    selection.catch(() => selections.delete(key))
    return selection
  }

  async #select(
    candidates: FilteredCandidates,
    audiences: readonly Audience[],
  ): Promise<ReadonlyMap<Audience, Selection>> {
    const scope = audiences[0]?.scope
    if (scope === undefined) return new Map()
    const catalog = this.#deps.live.current
    const matched = await Promise.all(audiences.map((audience) => matchedBy(audience, catalog, candidates)))
    const affected = new Set(matched.flatMap(({ rows }) => [...rows].map(({ event }) => event)))
    const undecided = new Set(candidates.undecidable)
    const bodies = new Map<Row, string>()
    await Promise.all(
      [...candidates.byTable].map(async ([table, all]) => {
        const rows = all.filter(({ event }) => affected.has(event))
        const relation = findStreamTable(catalog, table)
        if (rows.length === 0 || relation === undefined) return
        const { before } = candidates
        const onUndecided = () => undecided.add(table)
        const own = await this.#applyShared(candidates.shared.get(table), scope, rows, bodies, onUndecided)
        if (own.length === 0) return
        const readable = await this.#readable.find(relation, scope, own, before, onUndecided)
        await describeRows(this.#deps.system, relation, scope.kind, readable, bodies)
      }),
    )
    return new Map(
      audiences.map((audience, index) => {
        const own = matched[index] ?? { rows: new Set(), undecided: [] }
        const hasGap = [...own.undecided, ...undecided].some((table) => audience.subscriptions.has(table))
        return [audience, { messages: choose(candidates, own.rows, bodies), hasGap }]
      }),
    )
  }

  /** Adds the bodies of rows that are decided once for many callers. @returns the rows to decide for this caller */
  async #applyShared(
    shared: SharedRows | undefined,
    scope: CallerScope,
    rows: readonly Row[],
    bodies: Map<Row, string>,
    onUndecided: () => void,
  ): Promise<readonly Row[]> {
    if (shared === undefined || scope.kind !== 'caller' || shared.classOf(scope) === undefined) return rows
    const split = shared.split(rows, scope)
    if (split.shared.length === 0) return split.own
    const verdict = await shared.verdictFor(scope)
    for (const row of split.shared) {
      const body = verdict.bodies.get(row)
      if (body !== undefined) bodies.set(row, body)
      if (verdict.undecided.has(row)) onUndecided()
    }
    return split.own
  }

  /** Shares the decisions about a table; undefined if policies may distinguish any two callers. */
  async #share(relation: Relation, rows: readonly Row[]): Promise<SharedRows | undefined> {
    const dependence = await this.#dependences.of(relation)
    if (dependence === undefined) return undefined
    return new SharedRows(dependence, rows, async (open, caller) => {
      const undecided = new Set<Row>()
      const bodies = new Map<Row, string>()
      const onUndecided = (failed: readonly Row[]) => {
        for (const row of failed) undecided.add(row)
      }
      const readable = await this.#readable.findUnnamed(relation, dependence, caller, open, onUndecided)
      await describeRows(this.#deps.system, relation, caller.kind, readable, bodies)
      return { bodies, undecided }
    })
  }
}

const nothingSelected: Selection = { messages: [], hasGap: false }

/**
 * Returns the same key for audiences that receive the same events, because no row names their callers and policies
 * cannot distinguish them. Returns undefined for an audience that needs a decision of its own.
 */
function commonKey(
  { byTable, shared }: Candidates,
  { scope, subscriptions, key }: Audience,
): string | undefined {
  let classes = ''
  for (const table of byTable.keys()) {
    if (!subscriptions.has(table)) continue
    const rows = shared.get(table)
    const callerClass = rows?.classOf(scope)
    if (rows === undefined || callerClass === undefined || rows.mayName(scope)) return undefined
    classes += `${callerClass} `
  }
  return `${classes}${key}`
}

/** Chooses the messages of an audience. @param bodies bodies of the rows that the audience may read */
function choose(
  { rows }: Candidates,
  matched: ReadonlySet<Row>,
  bodies: ReadonlyMap<Row, string>,
): readonly Message[] {
  return rows.flatMap((ofEvent, index): Message[] => {
    const current = ofEvent.find((row) => !row.isOld && bodies.has(row))
    const lost = ofEvent.find((row) => row.isOld && bodies.has(row) && matched.has(row))
    const isVisible = lost !== undefined || (current !== undefined && matched.has(current))
    const visible = current ?? lost
    const body = visible && isVisible ? bodies.get(visible) : undefined
    return body === undefined ? [] : [{ index, body }]
  })
}

/** Finds the rows in the subscriptions of the audience, readable or not, and the tables whose rows cannot be found. */
async function matchedBy(
  { scope, subscriptions }: Audience,
  catalog: Catalog,
  { byTable, findMatches }: FilteredCandidates,
): Promise<{ readonly rows: ReadonlySet<Row>; readonly undecided: readonly string[] }> {
  const matched: Row[] = []
  const undecided: string[] = []
  for (const [table, rows] of byTable) {
    if (!subscriptions.has(table)) continue
    const filter = subscriptions.get(table)
    const found = filter === undefined ? rows : await matchingRows(table, filter)
    if (found === undefined) undecided.push(table)
    else matched.push(...found)
  }
  return { rows: new Set(matched), undecided }

  /**
   * Finds the rows that a filter matches. A filter on a column that callers may no longer read would still reveal its
   * values.
   */
  async function matchingRows(table: string, filter: Filter): Promise<Iterable<Row> | undefined> {
    const relation = findStreamTable(catalog, table)
    const isAllowed = filter.conditions.every(({ column: name }) => {
      const column = relation?.column.get(name)
      return scope.kind === 'unrestricted' || (column !== undefined && maySelect(column, scope.kind))
    })
    return isAllowed ? await findMatches(table, filter) : undefined
  }
}
