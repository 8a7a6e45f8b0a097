import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { outboxTopic } from '../../outbox/index.ts'
import { type Batch, positionAfterBatch, readEnd } from './batch.ts'
import { readsRelations } from './decision-statements.ts'
import { type LogEvent, readLog } from './event.ts'
import type { FollowedLog } from './follower.ts'
import type { HeldSnapshot, HeldSnapshots } from './held-snapshots.ts'
import type { Hub } from './hub.ts'
import type { Position } from './position.ts'
import { findStreamTable } from './stream-table.ts'
import type { TableRegistry } from './table-registry.ts'

/** Maximum number of events that one read returns. */
const batchSize = 500

export interface ChangeLogDeps {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly registry: TableRegistry
  readonly hub: Hub
  readonly snapshots: HeldSnapshots
  /** Runs when the log is another one than before. All streams may then miss events before the position. */
  readonly onBreak: (position: Position) => void
}

/**
 * Log of changes, read for the tables of the hub and delivered to its streams. If policies read other tables, the state
 * up to which it reads is held, as the state before the next events.
 */
export class ChangeLog implements FollowedLog<LogEvent> {
  readonly topic = outboxTopic
  readonly table = sql`basalt.outbox`
  readonly name = 'the log of changes'
  readonly #deps: ChangeLogDeps
  /**
   * State at the position of the follower; undefined if it is not held. `#next` is the state up to which the log is
   * being read.
   */
  #held: HeldSnapshot | undefined
  #next: HeldSnapshot | undefined
  /** Number of streams about to attach to tables whose policies read others. */
  #attaching = 0

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps
  }

  get holdsState(): boolean {
    return this.#attaching > 0 || this.#readRelations(this.#deps.hub.tables)
  }

  /**
   * Holds the state at each position from now on, if policies of the tables read others. The state before the first
   * event of a stream that attaches must be readable.
   *
   * @returns a function that ends this
   */
  hold(tables: readonly string[]): () => void {
    if (!this.#readRelations(tables)) return () => undefined
    this.#attaching += 1
    return () => {
      this.#attaching -= 1
    }
  }

  async begin(): Promise<Position> {
    this.#releaseSnapshots()
    if (this.#attaching > 0) this.#held = await this.#deps.snapshots.acquire()
    return this.#held === undefined
      ? await readEnd(this.#deps.database)
      : { timeline: this.#held.timeline, passed: this.#held.text }
  }

  async read(from: Position): Promise<Batch<LogEvent> | undefined> {
    const { database, hub, snapshots } = this.#deps
    const { tables } = hub
    if (tables.length === 0) {
      this.#releaseSnapshots()
      return undefined
    }
    if (from.within === undefined) {
      this.#next?.release()
      this.#next = undefined
      if (this.holdsState) this.#next = await snapshots.acquire()
    }
    return await readLog(database, from, tables, batchSize, this.#next?.text)
  }

  async deliver(batch: Batch<LogEvent>): Promise<void> {
    const { registry, hub } = this.#deps
    const changed = await registry.checkAfter(batch.events, hub.tables)
    const position = positionAfterBatch(batch)
    hub.sendGap(changed, position)
    const events = batch.events.filter((event) => !registry.isOutdated(event))
    const before = this.#held?.isReadable === true ? this.#held : undefined
    await hub.deliver({ ...batch, events }, position, before)
    if (!batch.isComplete) return
    this.#held?.release()
    this.#held = this.#next
    this.#next = undefined
  }

  onBreak(position: Position): void {
    this.#deps.onBreak(position)
  }

  #releaseSnapshots(): void {
    this.#held?.release()
    this.#next?.release()
    this.#held = undefined
    this.#next = undefined
  }

  /** Returns true if policies of one of the tables read others. */
  #readRelations(tables: readonly string[]): boolean {
    const catalog = this.#deps.live.current
    return tables.some((table) => {
      const relation = findStreamTable(catalog, table)
      if (relation === undefined) return false
      return readsRelations(relation, 'caller') || readsRelations(relation, 'anonymous')
    })
  }
}
