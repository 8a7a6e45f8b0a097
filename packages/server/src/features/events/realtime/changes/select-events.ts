import type { Logger } from 'pino'
import type { CallerScope } from '../../../../database/caller-scope.ts'
import type { Step } from '../../../../database/caller-steps.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { type Answer, type Statement, statement } from '../../../../database/message.ts'
import { render, sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { SnapshotUnavailable, type UserDatabase } from '../../../../database/user-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import { maySelect, privilegesOf } from '../../../data/collections/index.ts'
import type { Asker } from '../../../data/policies/index.ts'
import type { Audience } from './audience.ts'
import {
  columnsOfPolicies,
  compileRestricted,
  compileVisible,
  readsRelations,
} from './decision-statements.ts'
import type { LogEvent } from './event.ts'
import { type Row, type RowName, rowsOf, toJsonArray, wholeOldRow, wholeRow } from './event-rows.ts'
import type { Filter } from './filter.ts'
import type { HeldSnapshot } from './held-snapshots.ts'
import { findPassing, type Passing } from './passing.ts'
import { findStreamed } from './streamed.ts'
import { isUndecidable, sqlStateOf } from './verdict-failures.ts'

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

export interface EventSelectorDeps {
  readonly log: Logger
  readonly live: LiveCatalog
  readonly system: SystemDatabase
  readonly user: UserDatabase
}

/** The rows of a batch that pass a test. */
interface Decision {
  readonly rows: ReadonlySet<RowName>
  /** Tables of which some row could not be decided about. */
  readonly undecided: ReadonlySet<string>
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
 * be read; the audience receives a gap.
 */
export class EventSelector {
  readonly #deps: EventSelectorDeps
  /** A relation lives as long as its snapshot of the catalog. */
  readonly #visible = {
    caller: new WeakMap<Relation, Statement | undefined>(),
    anonymous: new WeakMap<Relation, Statement | undefined>(),
  }

  constructor(deps: EventSelectorDeps) {
    this.#deps = deps
  }

  findPassing(events: readonly LogEvent[], audiences: Iterable<Audience>): Passing {
    const { live, system, log } = this.#deps
    return findPassing({ live, database: system, log }, events, audiences)
  }

  /**
   * What audiences of one identity receive, in the order of the events.
   *
   * @param before the state before the events; undefined when it cannot be read
   * @throws StatementFailed, ConnectionLost, PoolExhausted while the database cannot say
   */
  async select(
    events: readonly LogEvent[],
    audiences: readonly Audience[],
    passing: Passing,
    before: HeldSnapshot | undefined,
  ): Promise<ReadonlyMap<Audience, Selection>> {
    const scope = audiences[0]?.scope
    if (scope === undefined) return new Map()
    const catalog = this.#deps.live.current
    const taken = await Promise.all(audiences.map((audience) => takenBy(audience, catalog, events, passing)))
    const readable = await this.#findReadable({ catalog, scope, events, before }, taken)
    const bodies = await this.#describe(catalog, scope, events, readable.rows)
    return new Map(
      audiences.map((audience, index) => {
        const { rows, undecided } = taken[index] ?? { rows: new Set(), undecided: [] }
        const tables = new Set([...undecided, ...readable.undecided])
        const hasGap = [...tables].some((table) => audience.subscriptions.has(table))
        return [audience, { messages: choose(events, rows, readable.rows, bodies), hasGap }]
      }),
    )
  }

  /** Of the rows that any of them takes, those the identity may read; and the other side of a change. */
  async #findReadable(circumstances: Circumstances, taken: readonly Decision[]): Promise<Decision> {
    const { events } = circumstances
    const isTaken = (index: number) =>
      taken.some(({ rows }) => rows.has(`new ${index}`) || rows.has(`old ${index}`))
    const byTable = Map.groupBy(
      rowsOf(events, (_, index) => isTaken(index)),
      ({ name }) => events[indexOf(name)]?.table ?? '',
    )
    const undecided = new Set<string>()
    const found = await Promise.all(
      [...byTable].map(([table, rows]) =>
        this.#findVisible(circumstances, table, rows, () => undecided.add(table)),
      ),
    )
    return { rows: new Set(found.flat().map(({ name }) => name)), undecided }
  }

  async #findVisible(
    { catalog, scope, events, before }: Circumstances,
    table: string,
    rows: readonly Row[],
    onUndecided: () => void,
  ): Promise<readonly Row[]> {
    const relation = findStreamed(catalog, table)
    if (relation === undefined) return []
    if (scope.kind === 'unrestricted') return rows
    if (!privilegesOf(relation, scope.kind).select || relation.rlsGap !== undefined) return []
    if (!relation.rlsEnabled) return rows
    const visible = this.#visibleStatement(relation, scope.kind)
    if (visible === undefined) return []
    const { user } = this.#deps
    const question = { visible, table, onUndecided }
    const run = async (step: Step) => (await user.run(scope, [step], { isRead: true }))[0]
    const found = await this.#evaluatePolicies({ ...question, run }, rows)
    if (!readsRelations(relation, scope.kind)) return found
    const names = new Set(found.map(({ name }) => name))
    const columns = columnsOfPolicies(relation, scope.kind)
    const hidden = rows.filter(({ name }) => !names.has(name) && isOwnLoss(events, name, columns))
    if (hidden.length === 0) return found
    if (before === undefined) {
      onUndecided()
      return found
    }
    const snapshot = await before.exported().catch(() => '')
    const runBefore = async (step: Step) => (await user.runAt(snapshot, scope, [step]))[0]
    return [...found, ...(await this.#evaluatePolicies({ ...question, run: runBefore }, hidden))]
  }

  /** A policy that fails on a row says no to it, and to no other. */
  async #evaluatePolicies(question: Question, rows: readonly Row[]): Promise<readonly Row[]> {
    try {
      const step = { statement: question.visible, values: [toJsonArray(rows)] }
      const answer = await question.run(step)
      return (answer?.rows ?? []).flatMap(([place]) => rows[Number(place) - 1] ?? [])
    } catch (error) {
      if (error instanceof SnapshotUnavailable) {
        question.onUndecided()
        return []
      }
      if (!isUndecidable(error)) throw error
      if (rows.length === 1) {
        const detail = { table: question.table, reason: messageOf(error) }
        this.#deps.log.warn(detail, 'a policy failed on a changed record')
        question.onUndecided()
        return []
      }
      const middle = Math.ceil(rows.length / 2)
      const first = await this.#evaluatePolicies(question, rows.slice(0, middle))
      // One that fails whatever the row need not be evaluated for every row.
      if (first.length === 0 && !isAboutValue(error)) {
        question.onUndecided()
        return []
      }
      return [...first, ...(await this.#evaluatePolicies(question, rows.slice(middle)))]
    }
  }

  #visibleStatement(relation: Relation, asker: Asker): Statement | undefined {
    const known = this.#visible[asker]
    if (!known.has(relation)) {
      const compiled = compileVisible(relation, asker, sql`${''}`)
      // The type of the rows is that of the table: another one when it is made again.
      known.set(relation, compiled && statement(render(compiled).text, relation.version))
    }
    return known.get(relation)
  }

  /** The body of each event: with its row, and should it be deleted for the audience. */
  async #describe(
    catalog: Catalog,
    scope: CallerScope,
    events: readonly LogEvent[],
    readable: ReadonlySet<RowName>,
  ): Promise<Bodies> {
    const whole = new Map<number, string>()
    const removed = new Map<number, string>()
    for (const [table, indexes] of Map.groupBy(events.keys(), (index) => events[index]?.table ?? '')) {
      const relation = findStreamed(catalog, table)
      if (relation === undefined) continue
      const columns = relation.columns.filter((column) => maySelect(column, scope.kind))
      const shown = indexes.filter((index) => readable.has(`new ${index}`))
      const records = shown.map((index) => events[index]?.record ?? '')
      const visible =
        columns.length === relation.columns.length ? records : await this.#restrict(records, columns)
      shown.forEach((index, place) => {
        const event = events[index]
        if (event !== undefined) whole.set(index, bodyOf(event.action, table, visible[place] ?? '{}'))
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
    return { whole, removed }
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

/** What decides about the rows of a batch for one identity. */
interface Circumstances {
  readonly catalog: Catalog
  readonly scope: CallerScope
  readonly events: readonly LogEvent[]
  readonly before: HeldSnapshot | undefined
}

/**
 * Whether it is the event that may have hidden the row: a delete, or an update of a column
 * that policies look at. After any other update the row is as visible as before it in every state of other tables, whose
 * own changes are not events of this one.
 */
function isOwnLoss(
  events: readonly LogEvent[],
  name: RowName,
  columns: readonly string[] | undefined,
): boolean {
  const event = events[indexOf(name)]
  if (event === undefined || !name.startsWith('old')) return false
  const old = wholeOldRow(event)
  if (old === null || columns === undefined) return true
  const [before, after] = [sliceObject(old), sliceObject(wholeRow(event))]
  return columns.some((column) => before.get(column) !== after.get(column))
}

/** What the policies of one table are evaluated by. */
interface Question {
  readonly run: (step: Step) => Promise<Answer | undefined>
  readonly visible: Statement
  readonly table: string
  readonly onUndecided: () => void
}

interface Bodies {
  readonly whole: ReadonlyMap<number, string>
  readonly removed: ReadonlyMap<number, string>
}

/** Data exceptions and errors that functions raise depend on the row; names and rights do not. */
function isAboutValue(error: unknown): boolean {
  return !/^(0A|3F|42)/.test(sqlStateOf(error) ?? '')
}

function choose(
  events: readonly LogEvent[],
  taken: ReadonlySet<RowName>,
  readable: ReadonlySet<RowName>,
  { whole, removed }: Bodies,
): Message[] {
  return events.flatMap((_, index) => {
    const isNew = readable.has(`new ${index}`)
    const wasTaken = readable.has(`old ${index}`) && taken.has(`old ${index}`)
    if (isNew && (taken.has(`new ${index}`) || wasTaken)) return messageOfEvent(index, whole)
    return !isNew && wasTaken ? messageOfEvent(index, removed) : []
  })
}

function messageOfEvent(index: number, bodies: ReadonlyMap<number, string>): Message | [] {
  const body = bodies.get(index)
  return body === undefined ? [] : { index, body }
}

/** The rows that the audience listens to, whether it may read them or not. */
async function takenBy(
  { scope, subscriptions }: Audience,
  catalog: Catalog,
  events: readonly LogEvent[],
  passing: Passing,
): Promise<Decision> {
  const rows: RowName[] = []
  const undecided = new Set<string>()
  for (const [table, indexes] of Map.groupBy(events.keys(), (index) => events[index]?.table ?? '')) {
    if (!subscriptions.has(table)) continue
    const filter = subscriptions.get(table)
    const among = new Set(indexes)
    const names = rowsOf(events, (_, index) => among.has(index)).map(({ name }) => name)
    const taken = filter === undefined ? names : await passingRows(table, filter)
    if (taken === undefined) undecided.add(table)
    else rows.push(...taken)
  }
  return { rows: new Set(rows), undecided }

  /** A filter on a column that callers may no longer read would still reveal what it holds. */
  async function passingRows(table: string, filter: Filter): Promise<Iterable<RowName> | undefined> {
    const relation = findStreamed(catalog, table)
    const isAllowed = filter.conditions.every(({ column: name }) => {
      const column = relation?.column.get(name)
      return scope.kind === 'unrestricted' || (column !== undefined && maySelect(column, scope.kind))
    })
    return isAllowed ? await passing(table, filter) : undefined
  }
}

function indexOf(name: RowName): number {
  return Number(name.slice(4))
}

/** A `json` column keeps the line breaks of what was written; outside of strings they mean nothing. */
function bodyOf(action: LogEvent['action'], table: string, record: string): string {
  return `{"action":"${action}","table":${JSON.stringify(table)},"record":${record.replace(/[\r\n]+/g, ' ')}}`
}
