import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { type ChangeAction, captureTriggerName, mayHaveTriggers } from '../../../../database/change-log.ts'
import { ConnectionLost } from '../../../../database/errors/failures.ts'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import { inBackground } from '../../../../database/pool/background.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import type { Interests } from '../interests.ts'
import { applyChange, changesOf, readTables } from './apply.ts'
import { listInstalledTriggers, listTablesWithTriggers, triggersVersion } from './captured-tables.ts'
import { type CapturedAction, type CapturedTable, capturedActions } from './trigger.ts'

const topic = 'event_triggers'
/** Milliseconds between two polls of the existing triggers. The next API write notices a missing trigger too. */
const pollMs = 1000
/** Milliseconds before a locked table is retried: the first and the longest pause. */
const retryMs = { first: 200, most: 15_000 }

export interface EventTriggersOptions {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly notifications: Notifications
  readonly interests: Interests
  /** False if no table may have triggers. */
  readonly isEnabled: boolean
  readonly log: Logger
}

/**
 * Component that maintains the capture triggers: tables with listeners have them, other tables have none. Any number of
 * nodes do this together. The existing triggers are read from the database, and the required ones from
 * `basalt.event_interests`.
 */
export class EventTriggers {
  readonly #options: EventTriggersOptions
  readonly #queue = new TaskQueue()
  /** Names of the enabled triggers, by oid of the table. */
  #installed: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  /**
   * Oids of tables with a write that was not logged although its trigger seemed enabled. They are kept until triggers
   * change.
   */
  readonly #unlogged = new Set<string>()
  /** Reasons why a collection can have no triggers, by collection. */
  #obstacles: ReadonlyMap<string, string> = new Map()
  #pass: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #attempt = 0
  #isRunning = false
  /** True if a pass is scheduled that has not started. */
  #isPending = false

  constructor(options: EventTriggersOptions) {
    this.#options = options
    const { notifications, live, interests } = options
    notifications.watch({
      topic,
      version: triggersVersion,
      everyMs: () => pollMs,
      onChange: async () => {
        await this.#readInstalled()
        this.#unlogged.clear()
        // A trigger may have been dropped.
        this.#reconcileSoon()
      },
    })
    interests.onChange(() => this.#reconcileSoon())
    interests.onSettle(() => this.settled())
    live.onChange(() => this.#reconcileSoon())
  }

  get isEnabled(): boolean {
    return this.#options.isEnabled
  }

  start(): void {
    this.#isRunning = true
    this.#reconcileSoon()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#retry)
    await this.#pass
    await this.#queue.idle()
  }

  /**
   * Returns true if a trigger logs the action, as far as this node knows. Reads only memory, because every write calls
   * it.
   */
  has({ oid }: Relation, action: ChangeAction): boolean {
    return this.#installed.get(oid)?.has(captureTriggerName(action)) === true && !this.#unlogged.has(oid)
  }

  /** Marks the table after a write that no trigger has logged. */
  invalidate({ oid }: Relation): void {
    this.#unlogged.add(oid)
    this.#reconcileSoon()
  }

  /** Collections with a listener whose changes past the API are not logged, with the reasons. */
  get obstacles(): ReadonlyMap<string, string> {
    return this.#obstacles
  }

  /**
   * Installs all triggers on these collections at once.
   *
   * @returns true if all of them are enabled; changes are then logged whichever node or program makes them
   */
  async install(collections: readonly string[]): Promise<boolean> {
    if (!this.#options.isEnabled) return false
    const relations = collections.flatMap((name) => this.#options.live.current.relations.get(name) ?? [])
    if (relations.length < collections.length) return false
    const wanted = new Map(relations.map((relation) => [relation.oid, new Set(capturedActions)]))
    return await this.#queue.add(() =>
      inBackground(async () => {
        if (relations.some((relation) => !mayHaveTriggers(relation))) return false
        const { isSettled, isWhole } = await this.#apply(wanted, new Map())
        return isSettled && isWhole
      }),
    )
  }

  /** Resolves when every table has been tried for the current listeners. */
  async settled(): Promise<void> {
    this.#reconcileSoon()
    await this.#pass
  }

  #reconcileSoon(): void {
    if (!this.#isRunning) return
    clearTimeout(this.#retry)
    const before = this.#pass
    // Each reason starts a pass after it. Reasons that arrive before that pass has started share it.
    if (this.#isPending) return
    this.#isPending = true
    this.#pass = (before ?? Promise.resolve())
      .then(() => {
        this.#isPending = false
        return this.#queue.add(() => inBackground(() => this.#reconcile()))
      })
      .catch((error) => {
        this.#options.log.warn(
          { reason: messageOf(error) },
          'failed to install event triggers; API writes are logged without them; retrying',
        )
        this.#retryLater()
      })
  }

  async #reconcile(): Promise<void> {
    const { live, interests, database, isEnabled } = this.#options
    const wanted = new Map<string, ReadonlySet<CapturedAction>>()
    const optedOut = new Map<string, boolean>()
    for (const relation of live.current.relations.values()) {
      const actions = interests.actionsOf(relation.collection)
      if (actions.size === 0) continue
      const isOut = !isEnabled || !mayHaveTriggers(relation)
      if (isOut) optedOut.set(relation.oid, true)
      wanted.set(relation.oid, isOut ? new Set() : actions)
    }
    for (const oid of await listTablesWithTriggers(database)) {
      if (!wanted.has(oid)) wanted.set(oid, new Set())
    }
    const { isSettled } = await this.#apply(wanted, optedOut)
    if (isSettled) this.#attempt = 0
    else this.#retryLater()
  }

  /** @param wanted actions by oid of a collection */
  async #apply(
    wanted: ReadonlyMap<string, ReadonlySet<CapturedAction>>,
    optedOut: ReadonlyMap<string, boolean>,
  ): Promise<{ readonly isSettled: boolean; readonly isWhole: boolean }> {
    const { database } = this.#options
    if (wanted.size === 0) return { isSettled: true, isWhole: true }
    const tables = await readTables(database, [...wanted.keys()])
    if (tables === undefined) return { isSettled: false, isWhole: false }
    const obstacles = new Map(this.#obstacles)
    let [isSettled, isWhole, hasChanged] = [true, true, false]
    let root: CapturedTable | undefined
    for (const table of tables) {
      if (!table.isPartition) root = table
      const actions = wanted.get(root?.oid ?? '') ?? new Set()
      if (table.obstacle !== undefined && actions.size > 0) {
        isWhole = false
        this.#report(obstacles, table, table.obstacle.reason)
      } else if (!table.isPartition) obstacles.delete(table.collection)
      const isOptedOut = optedOut.get(root?.oid ?? '') === true
      for (const change of changesOf(table, actions)) {
        const outcome = await applyChange(database, change, isOptedOut).catch((error) => {
          if (error instanceof ConnectionLost) throw error
          this.#report(obstacles, table, messageOf(error))
          return 'locked' as const
        })
        if (outcome === 'done') hasChanged = true
        else isSettled = false
      }
    }
    this.#obstacles = obstacles
    if (hasChanged) {
      await this.#readInstalled()
      this.#options.notifications.announce(topic)
    }
    return { isSettled, isWhole: isWhole && tables.length > 0 }
  }

  #report(obstacles: Map<string, string>, { collection, schema, name }: CapturedTable, reason: string): void {
    if (obstacles.get(collection) === reason) return
    obstacles.set(collection, reason)
    this.#options.log.warn(
      { table: `${schema}.${name}`, reason },
      'failed to install event triggers on a table; only API changes are logged',
    )
  }

  async #readInstalled(): Promise<void> {
    const installed = new Map<string, Set<string>>()
    for (const { oid, name } of await listInstalledTriggers(this.#options.database)) {
      const names = installed.get(oid) ?? new Set()
      installed.set(oid, names.add(name))
    }
    this.#installed = installed
  }

  #retryLater(): void {
    if (!this.#isRunning) return
    const delayMs = Math.min(retryMs.first * 2 ** this.#attempt, retryMs.most)
    this.#attempt += 1
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#reconcileSoon(), delayMs).unref()
  }
}
