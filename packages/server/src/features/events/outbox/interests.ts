import { setTimeout as delay } from 'node:timers/promises'
import {
  listeningMs,
  type Notifications,
  type WatchHandle,
} from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { CapturedAction } from './capture/trigger.ts'

const topic = 'event_interests'
/** A node whose knowledge is older takes it that everything is listened to. Beyond the time between two looks. */
const staleMs = listeningMs + 300

/** Where an action has listeners. */
interface Listened {
  readonly everywhere: boolean
  readonly tables: ReadonlySet<string>
}

/**
 * Which changes have listeners (`basalt.event_interests`). Every node knows of a change, or takes it that everything is
 * listened to, by the time that {@link settled} resolves.
 */
export class Interests {
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  readonly #listeners: (() => void)[] = []
  readonly #settlers: (() => Promise<void>)[] = []
  #listened: ReadonlyMap<CapturedAction, Listened> = new Map()
  /** Collections that are about to have a listener, with how many expect it. */
  readonly #expected = new Map<string, number>()

  constructor(notifications: Notifications) {
    this.#notifications = notifications
    this.#handle = notifications.watch({
      topic,
      // As they stand: to unnest arrays in here made the planner expect so many rows of tables that were never analysed
      // that it launched parallel workers, for every look.
      version: sql`select json_agg(json_build_array(tables, actions)) from basalt.event_interests`,
      onChange: (version) => {
        this.#remember(version)
        for (const listener of this.#listeners) listener()
      },
    })
  }

  /** Answered from memory, for every write. When in doubt true: an event that no consumer takes costs only its row. */
  has(collection: string, action: CapturedAction): boolean {
    if (performance.now() - this.#handle.currentAt > staleMs || this.#expected.has(collection)) return true
    const listened = this.#listened.get(action)
    return listened !== undefined && (listened.everywhere || listened.tables.has(collection))
  }

  /** Actions of the collection that are known to have listeners. */
  actionsOf(collection: string): ReadonlySet<CapturedAction> {
    const actions = [...this.#listened].filter(
      ([, { everywhere, tables }]) => everywhere || tables.has(collection),
    )
    return new Set(actions.map(([action]) => action))
  }

  /** Adds what is called when other changes have listeners than before. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Whether there is any listener. */
  get isAny(): boolean {
    return this.#listened.size > 0
  }

  /** Has this node take it that the collections are listened to, at once. @returns what ends that */
  expect(collections: readonly string[]): () => void {
    for (const each of collections) this.#expected.set(each, (this.#expected.get(each) ?? 0) + 1)
    return () => {
      for (const each of collections) {
        const rest = (this.#expected.get(each) ?? 0) - 1
        if (rest > 0) this.#expected.set(each, rest)
        else this.#expected.delete(each)
      }
    }
  }

  /** After a commit: in force on this node when it resolves, and soon on the others. */
  async refresh(): Promise<void> {
    this.#notifications.announce(topic)
    await this.#handle.look()
  }

  /** After a commit: resolves when it is in force on every node. */
  async settled(): Promise<void> {
    const refreshed = this.refresh().then(() => Promise.all(this.#settlers.map((settle) => settle())))
    await Promise.all([refreshed, delay(staleMs)])
  }

  /** Adds what has to be done before listeners are in force. */
  onSettle(settle: () => Promise<void>): void {
    this.#settlers.push(settle)
  }

  #remember(version: string | null): void {
    const rows: [tables: string[], actions: CapturedAction[]][] = version === null ? [] : JSON.parse(version)
    const listened = new Map<CapturedAction, { everywhere: boolean; tables: Set<string> }>()
    for (const [tables, actions] of rows) {
      for (const action of actions) {
        const known = listened.get(action) ?? { everywhere: false, tables: new Set() }
        listened.set(action, known)
        if (tables.length === 0) known.everywhere = true
        for (const table of tables) known.tables.add(table)
      }
    }
    this.#listened = listened
  }
}
