import { setTimeout as delay } from 'node:timers/promises'
import { listeningMs } from '../../../database/notifications/intervals.ts'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { CapturedAction } from './capture/trigger.ts'

const topic = 'event_interests'
/**
 * Milliseconds after which a node with older knowledge assumes that everything has a listener. It is longer than the
 * time between two polls.
 */
const staleMs = listeningMs + 300

/** Tables on which an action has listeners. */
interface ActionListeners {
  readonly everywhere: boolean
  readonly tables: ReadonlySet<string>
}

/**
 * Actions and tables that have listeners (`basalt.event_interests`). When {@link settled} resolves, every node knows of
 * a change or assumes that everything has a listener.
 */
export class Interests {
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  readonly #callbacks: (() => void)[] = []
  readonly #settlers: (() => Promise<void>)[] = []
  #byAction: ReadonlyMap<CapturedAction, ActionListeners> = new Map()
  /** Collections that are about to have a listener, with the number of callers expecting it. */
  readonly #expected = new Map<string, number>()

  constructor(notifications: Notifications) {
    this.#notifications = notifications
    this.#handle = notifications.watch({
      topic,
      // The arrays are not unnested. With `unnest` the planner expected so many rows of tables without statistics that
      // it launched parallel workers for every poll.
      version: sql`select json_agg(json_build_array(tables, actions)) from basalt.event_interests`,
      onChange: (version) => {
        this.#update(version)
        for (const callback of this.#callbacks) callback()
      },
    })
  }

  /**
   * Returns true if the action has a listener. Reads only memory, because every write calls it. Returns true when
   * unsure, because an event without a consumer costs only its row.
   */
  has(collection: string, action: CapturedAction): boolean {
    if (performance.now() - this.#handle.currentAt > staleMs || this.#expected.has(collection)) return true
    const listeners = this.#byAction.get(action)
    return listeners !== undefined && (listeners.everywhere || listeners.tables.has(collection))
  }

  /** Returns the actions of the collection that are known to have listeners. */
  actionsOf(collection: string): ReadonlySet<CapturedAction> {
    const actions = [...this.#byAction].filter(
      ([, { everywhere, tables }]) => everywhere || tables.has(collection),
    )
    return new Set(actions.map(([action]) => action))
  }

  /** Registers a callback for changes of the listeners. */
  onChange(callback: () => void): void {
    this.#callbacks.push(callback)
  }

  /** True if anything has a listener. */
  get isAny(): boolean {
    return this.#byAction.size > 0
  }

  /** Treats the collections as having a listener on this node at once. @returns a function that ends it */
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

  /** Reads the listeners after a commit. They are in force on this node when it resolves, and soon on the others. */
  async refresh(): Promise<void> {
    this.#notifications.announce(topic)
    await this.#handle.poll()
  }

  /** Waits after a commit until the listeners are in force on every node. */
  async settled(): Promise<void> {
    const refreshed = this.refresh().then(() => Promise.all(this.#settlers.map((settle) => settle())))
    await Promise.all([refreshed, delay(staleMs)])
  }

  /** Registers work that must be done before listeners are in force. */
  onSettle(settle: () => Promise<void>): void {
    this.#settlers.push(settle)
  }

  #update(version: string | null): void {
    const rows: [tables: string[], actions: CapturedAction[]][] = version === null ? [] : JSON.parse(version)
    const listeners = new Map<CapturedAction, { everywhere: boolean; tables: Set<string> }>()
    for (const [tables, actions] of rows) {
      for (const action of actions) {
        const known = listeners.get(action) ?? { everywhere: false, tables: new Set() }
        listeners.set(action, known)
        if (tables.length === 0) known.everywhere = true
        for (const table of tables) known.tables.add(table)
      }
    }
    this.#byAction = listeners
  }
}
