import type { Logger } from 'pino'
import type { LiveCatalog } from '../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../database/catalog/model.ts'
import { translateDatabaseFailure } from '../../database/errors.ts'
import { type Statement, StatementFailed, statement } from '../../database/message.ts'
import { render, sql } from '../../database/sql.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { CallerScope, UserDatabase } from '../../database/user-database.ts'
import { messageOf } from '../../lib/errors.ts'
import { createCatalogAccess, mayBeOutdated } from '../collections/index.ts'
import type { Audience } from './audience.ts'
import type { LogEvent } from './event.ts'
import type { Filter } from './filter.ts'
import { compilePassing, compileRestricted, compileVisible } from './rows.ts'

/** What an audience is told of one event. */
export interface Message {
  /** Of the event in its batch. */
  readonly index: number
  /** `{"action":…,"table":…,"record":…}`, in one line. */
  readonly body: string
}

/** Some rows of a batch: of the event with the index, as it is or as it was before. */
type RowName = `new ${number}` | `old ${number}`

/** Which filters the rows of a batch pass. */
export type Passing = ReadonlyMap<Filter['key'], ReadonlySet<RowName>>

interface Row {
  readonly name: RowName
  readonly json: string
}

/** Tables whose policies cannot be evaluated. */
interface Refusals {
  readonly tables: Set<string>
  /** The one that failed last. */
  failed: string | undefined
}

export interface EventSelectorDeps {
  readonly log: Logger
  readonly live: LiveCatalog
  readonly system: SystemDatabase
  readonly user: UserDatabase
}

/**
 * Decides who is told what. A row is an audience's if the policies let its identity read it, as it stood in the event,
 * and the filter of the audience takes it. Told are:
 * - a new row that is theirs,
 * - a change of a row they may read, when the filter takes the row as it is or, if they could read it, as it was,
 * - the removal of a row that was theirs, and with it a change after which they may no longer read it.
 */
export class EventSelector {
  readonly #deps: EventSelectorDeps
  readonly #withCatalog: ReturnType<typeof createCatalogAccess>
  /** A relation lives as long as its snapshot of the catalog. */
  readonly #visible = new WeakMap<Relation, Statement | undefined>()

  constructor(deps: EventSelectorDeps) {
    this.#deps = deps
    this.#withCatalog = createCatalogAccess(deps.live)
  }

  /**
   * Which filters the events pass, for whomever: one statement per table and shape of filter.
   *
   * @throws StatementFailed, ConnectionLost, PoolExhausted
   */
  async findPassing(events: readonly LogEvent[], audiences: Iterable<Audience>): Promise<Passing> {
    const passing = new Map<Filter['key'], Set<RowName>>()
    const shapes = groupFilters(events, audiences)
    if (shapes.length === 0) return passing
    await this.#withCatalog(async (catalog) => {
      for (const { table, filters } of shapes) {
        const relation = catalog.relations.get(table)
        const [first] = filters
        if (relation === undefined || first === undefined) continue
        const rows = rowsOf(events, (event) => event.table === table)
        const values = first.conditions.map((_, index) =>
          filters.map(({ conditions }) => conditions[index]?.value ?? ''),
        )
        const pairs = await this.#deps.system.many<{ row: string; filter: string }>(
          compilePassing(relation, sql`${jsonArray(rows)}`, first, values),
        )
        for (const filter of filters) passing.set(tableKey(table, filter), new Set())
        for (const pair of pairs) {
          const filter = filters[Number(pair.filter) - 1]
          const row = rows[Number(pair.row) - 1]
          if (filter !== undefined && row !== undefined) passing.get(tableKey(table, filter))?.add(row.name)
        }
      }
    })
    return passing
  }

  /**
   * What audiences of one identity are told, in the order of the events.
   *
   * @throws AppError, ConnectionLost, PoolExhausted
   */
  async select(
    events: readonly LogEvent[],
    scope: CallerScope,
    audiences: readonly Audience[],
    passing: Passing,
  ): Promise<ReadonlyMap<Audience, readonly Message[]>> {
    const refusals: Refusals = { tables: new Set(), failed: undefined }
    for (;;) {
      try {
        return await this.#withCatalog(async (catalog) => {
          const wanted = audiences.map((audience) => takenBy(audience, events, passing))
          const readable = await this.#findReadable(catalog, scope, events, wanted, refusals)
          const bodies = await this.#describe(catalog, scope, events, readable)
          return new Map(
            audiences.map((audience, index) => {
              const taken = wanted[index] ?? new Set<RowName>()
              return [audience, choose(events, taken, readable, bodies)]
            }),
          )
        })
      } catch (error) {
        // Not out of date after all: the policies ask for what only a table has.
        const { tables, failed } = refusals
        if (failed === undefined || tables.has(failed)) throw error
        const detail = { table: failed, reason: messageOf(error) }
        this.#deps.log.warn(
          detail,
          'the policies of a table cannot be asked about its events; nobody is told',
        )
        tables.add(failed)
      }
    }
  }

  /** Of the rows that any of them takes, those the identity may read; and the other side of a change. */
  async #findReadable(
    catalog: Catalog,
    scope: CallerScope,
    events: readonly LogEvent[],
    wanted: readonly ReadonlySet<RowName>[],
    refusals: Refusals,
  ): Promise<ReadonlySet<RowName>> {
    const isTaken = (index: number) =>
      wanted.some((taken) => taken.has(`new ${index}`) || taken.has(`old ${index}`))
    const rows = Map.groupBy(
      rowsOf(events, (_, index) => isTaken(index)),
      ({ name }) => events[indexOf(name)]?.table ?? '',
    )
    const readable = new Set<RowName>()
    const found = await Promise.all(
      [...rows].map(([table, list]) => this.#findVisible(catalog, scope, table, list, refusals)),
    )
    for (const { name } of found.flat()) readable.add(name)
    return readable
  }

  async #findVisible(
    catalog: Catalog,
    scope: CallerScope,
    table: string,
    rows: readonly Row[],
    refusals: Refusals,
  ): Promise<readonly Row[]> {
    const relation = catalog.relations.get(table)
    if (relation === undefined || refusals.tables.has(table)) return []
    if (scope.kind === 'unrestricted') return rows
    if (!relation.callers.select) return []
    if (!relation.rlsEnabled) return rows
    const visible = this.#visibleStatement(relation)
    if (visible === undefined) return []
    try {
      return await this.#askPolicies(scope, visible, rows)
    } catch (error) {
      if (mayBeOutdated(error)) refusals.failed = table
      throw error
    }
  }

  /** A policy that fails on a row says no to it, and to no other. */
  async #askPolicies(scope: CallerScope, visible: Statement, rows: readonly Row[]): Promise<readonly Row[]> {
    try {
      const step = { statement: visible, values: [jsonArray(rows)] }
      const [answer] = await this.#deps.user.run(scope, [step], { isRead: true })
      return (answer?.rows ?? []).flatMap(([place]) => rows[Number(place) - 1] ?? [])
    } catch (error) {
      if (!isFaultOfRow(error)) throw error
      if (rows.length === 1) {
        this.#deps.log.warn({ reason: messageOf(error) }, 'a policy failed on a changed row')
        return []
      }
      const middle = Math.ceil(rows.length / 2)
      const first = await this.#askPolicies(scope, visible, rows.slice(0, middle))
      return [...first, ...(await this.#askPolicies(scope, visible, rows.slice(middle)))]
    }
  }

  #visibleStatement(relation: Relation): Statement | undefined {
    if (!this.#visible.has(relation)) {
      const compiled = compileVisible(relation, sql`${''}`)
      this.#visible.set(relation, compiled && statement(render(compiled).text))
    }
    return this.#visible.get(relation)
  }

  /** What is told of each event: of its row, and should it be gone for the audience. */
  async #describe(
    catalog: Catalog,
    scope: CallerScope,
    events: readonly LogEvent[],
    readable: ReadonlySet<RowName>,
  ): Promise<Bodies> {
    const told = new Map<number, string>()
    const removed = new Map<number, string>()
    for (const [table, indexes] of Map.groupBy(events.keys(), (index) => events[index]?.table ?? '')) {
      const relation = catalog.relations.get(table)
      if (relation === undefined) continue
      const columns = relation.columns.filter(
        ({ callersMaySelect }) => scope.kind === 'unrestricted' || callersMaySelect,
      )
      const shown = indexes.filter((index) => readable.has(`new ${index}`))
      const whole = shown.map((index) => events[index]?.record ?? '')
      const records =
        columns.length === relation.columns.length ? whole : await this.#restrict(whole, columns)
      shown.forEach((index, place) => {
        const event = events[index]
        if (event !== undefined) told.set(index, bodyOf(event.action, table, records[place] ?? '{}'))
      })
      for (const index of indexes) {
        const event = events[index]
        if (event === undefined || event.action === 'create' || !readable.has(`old ${index}`)) continue
        const names = relation.primaryKey.map(({ name }) => name)
        const key = event.oldKey ?? event.key ?? []
        const members = names.flatMap((name, place) =>
          columns.some((column) => column.name === name) ? [[name, key[place]] as const] : [],
        )
        removed.set(index, bodyOf('delete', table, JSON.stringify(Object.fromEntries(members))))
      }
    }
    return { told, removed }
  }

  async #restrict(records: readonly string[], columns: readonly { name: string }[]): Promise<string[]> {
    if (records.length === 0) return []
    const names = columns.map(({ name }) => name)
    const rows = await this.#deps.system.many<{ record: string }>(
      compileRestricted(sql`${`[${records.join()}]`}`, names),
    )
    return rows.map(({ record }) => record)
  }
}

interface Bodies {
  readonly told: ReadonlyMap<number, string>
  readonly removed: ReadonlyMap<number, string>
}

/** Whether another row may do better: neither the database is in trouble nor the statement out of date. */
function isFaultOfRow(error: unknown): boolean {
  if (!(error instanceof StatementFailed) || mayBeOutdated(error)) return false
  return (translateDatabaseFailure(error)?.status ?? 400) !== 503
}

function choose(
  events: readonly LogEvent[],
  taken: ReadonlySet<RowName>,
  readable: ReadonlySet<RowName>,
  { told, removed }: Bodies,
): Message[] {
  return events.flatMap((_, index) => {
    const isNew = readable.has(`new ${index}`)
    const wasTheirs = readable.has(`old ${index}`) && taken.has(`old ${index}`)
    if (isNew && (taken.has(`new ${index}`) || wasTheirs)) return toldOf(index, told)
    return !isNew && wasTheirs ? toldOf(index, removed) : []
  })
}

function toldOf(index: number, bodies: ReadonlyMap<number, string>): Message | [] {
  const body = bodies.get(index)
  return body === undefined ? [] : { index, body }
}

/** The rows that the audience listens to, whether it may read them or not. */
function takenBy(
  { subscriptions }: Audience,
  events: readonly LogEvent[],
  passing: Passing,
): ReadonlySet<RowName> {
  const rows = rowsOf(events, ({ table }) => subscriptions.has(table))
  const taken = rows.filter(({ name }) => {
    const { table } = events[indexOf(name)] as LogEvent
    const filter = subscriptions.get(table)
    return filter === undefined || passing.get(tableKey(table, filter))?.has(name) === true
  })
  return new Set(taken.map(({ name }) => name))
}

/** A deleted row is an old one. */
function rowsOf(
  events: readonly LogEvent[],
  test: (event: LogEvent, index: number) => boolean,
): readonly Row[] {
  return events.flatMap((event, index): Row[] => {
    if (!test(event, index)) return []
    if (event.action === 'delete') return [{ name: `old ${index}`, json: event.record }]
    const row: Row = { name: `new ${index}`, json: event.record }
    return event.oldRecord === null ? [row] : [row, { name: `old ${index}`, json: event.oldRecord }]
  })
}

function indexOf(name: RowName): number {
  return Number(name.slice(4))
}

interface FilterGroup {
  readonly table: string
  readonly filters: readonly Filter[]
}

/** The different filters of the tables that have events, by table and shape. */
function groupFilters(events: readonly LogEvent[], audiences: Iterable<Audience>): readonly FilterGroup[] {
  const tables = new Set(events.map(({ table }) => table))
  const groups = new Map<string, { table: string; filters: Map<string, Filter> }>()
  for (const { subscriptions } of audiences) {
    for (const [table, filter] of subscriptions) {
      if (filter === undefined || !tables.has(table)) continue
      const key = `${filter.shape} ${table}`
      const group = groups.get(key) ?? { table, filters: new Map() }
      groups.set(key, group)
      group.filters.set(filter.key, filter)
    }
  }
  return [...groups.values()].map(({ table, filters }) => ({ table, filters: [...filters.values()] }))
}

function tableKey(table: string, { key }: Filter): string {
  return `${key} ${table}`
}

function jsonArray(rows: readonly Row[]): string {
  return `[${rows.map(({ json }) => json).join()}]`
}

/** A `json` column keeps the line breaks of what was written; outside of strings they mean nothing. */
function bodyOf(action: LogEvent['action'], table: string, record: string): string {
  return `{"action":"${action}","table":${JSON.stringify(table)},"record":${record.replace(/[\r\n]+/g, ' ')}}`
}
