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
import { applyChange, changesOf, lookAtTables } from './apply.ts'
import { listStanding, listTablesWithTriggers, triggersVersion } from './captured-tables.ts'
import { type CapturedAction, type CapturedTable, capturedActions } from './trigger.ts'

const topic = 'event_triggers'
/** Between two looks at which triggers there are. One that is missing is noticed by the next write of the API, too. */
const lookMs = 1000
/** Before what was busy is tried again: at first, and at most. */
const retryMs = { first: 200, most: 15_000 }

export interface EventTriggersOptions {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly notifications: Notifications
  readonly interests: Interests
  /** False: no table has any. */
  readonly isEnabled: boolean
  readonly log: Logger
}

/**
 * Keeps the triggers that log changes on the tables that something listens to, and on no others. Any number of nodes do so:
 * the triggers are what the database says, and what is asked for is in `basalt.event_interests`.
 */
export class EventTriggers {
  readonly #options: EventTriggersOptions
  readonly #queue = new TaskQueue()
  /** Names of the triggers in force, by oid of the table. */
  #standing: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  /** Tables of which a write was not logged although its trigger seemed to be in force, until triggers change. */
  readonly #doubted = new Set<string>()
  /** By collection: why it can have none. */
  #obstacles: ReadonlyMap<string, string> = new Map()
  #pass: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #attempt = 0
  #isRunning = false
  /** True if a pass is to come that has not begun. */
  #isPending = false

  constructor(options: EventTriggersOptions) {
    this.#options = options
    const { notifications, live, interests } = options
    notifications.watch({
      topic,
      version: triggersVersion,
      everyMs: () => lookMs,
      onChange: async () => {
        await this.#readStanding()
        this.#doubted.clear()
        // One may have been dropped.
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

  /** Returns whether a trigger logs the action, as far as this node knows. Answered from memory, for every write. */
  has({ oid }: Relation, action: ChangeAction): boolean {
    return this.#standing.get(oid)?.has(captureTriggerName(action)) === true && !this.#doubted.has(oid)
  }

  /** A write has found that no trigger logs it. */
  doubt({ oid }: Relation): void {
    this.#doubted.add(oid)
    this.#reconcileSoon()
  }

  /** Collections with a listener whose changes past the API are not logged, and why. */
  get obstacles(): ReadonlyMap<string, string> {
    return this.#obstacles
  }

  /**
   * Puts all triggers on these collections at once.
   *
   * @returns whether every one of them is in force: their changes are then logged, whichever node or program makes them
   */
  async takeUp(collections: readonly string[]): Promise<boolean> {
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

  /** Resolves when every table has been tried for the listeners of now. */
  async settled(): Promise<void> {
    this.#reconcileSoon()
    await this.#pass
  }

  #reconcileSoon(): void {
    if (!this.#isRunning) return
    clearTimeout(this.#retry)
    const before = this.#pass
    // One pass begins after each reason; reasons that come before it has begun share it.
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
          'failed to put triggers for events on tables; writes of the API are logged without; retrying',
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

  /** @param wanted by oid of a collection */
  async #apply(
    wanted: ReadonlyMap<string, ReadonlySet<CapturedAction>>,
    optedOut: ReadonlyMap<string, boolean>,
  ): Promise<{ readonly isSettled: boolean; readonly isWhole: boolean }> {
    const { database } = this.#options
    if (wanted.size === 0) return { isSettled: true, isWhole: true }
    const tables = await lookAtTables(database, [...wanted.keys()])
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
          return 'busy' as const
        })
        if (outcome === 'done') hasChanged = true
        else isSettled = false
      }
    }
    this.#obstacles = obstacles
    if (hasChanged) {
      await this.#readStanding()
      this.#options.notifications.announce(topic)
    }
    return { isSettled, isWhole: isWhole && tables.length > 0 }
  }

  #report(obstacles: Map<string, string>, { collection, schema, name }: CapturedTable, why: string): void {
    if (obstacles.get(collection) === why) return
    obstacles.set(collection, why)
    this.#options.log.warn(
      { table: `${schema}.${name}`, reason: why },
      'cannot put triggers for events on a table: only changes by the API are logged',
    )
  }

  async #readStanding(): Promise<void> {
    const standing = new Map<string, Set<string>>()
    for (const { oid, name } of await listStanding(this.#options.database)) {
      const names = standing.get(oid) ?? new Set()
      standing.set(oid, names.add(name))
    }
    this.#standing = standing
  }

  #retryLater(): void {
    if (!this.#isRunning) return
    const delayMs = Math.min(retryMs.first * 2 ** this.#attempt, retryMs.most)
    this.#attempt += 1
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#reconcileSoon(), delayMs).unref()
  }
}
