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
import type { ListenedTables } from './listened-tables.ts'
import type { Position } from './position.ts'
import { findStreamed } from './streamed.ts'

/** Events read at once. */
const batchSize = 500

export interface ChangeLogDeps {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly listened: ListenedTables
  readonly hub: Hub
  readonly snapshots: HeldSnapshots
  /** Called when the log is not the one that was read before: all streams may miss events before the position. */
  readonly onBreak: (position: Position) => void
}

/**
 * The log of changes, read for the tables of the hub and delivered to its streams. Where policies read other tables, the
 * state that is read up to is held: it is the state before what comes next.
 */
export class ChangeLog implements FollowedLog<LogEvent> {
  readonly topic = outboxTopic
  readonly table = sql`basalt.outbox`
  readonly name = 'the log of changes'
  readonly #deps: ChangeLogDeps
  /** The state at the position of the follower, and the one that is read up to; undefined where they are not held. */
  #held: HeldSnapshot | undefined
  #next: HeldSnapshot | undefined
  /** Streams that are about to join tables whose policies read others. */
  #joining = 0

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps
  }

  get isHeld(): boolean {
    return this.#joining > 0 || this.#readRelations(this.#deps.hub.tables)
  }

  /**
   * Holds the state at each position from now on if policies of the tables read others, as the state before the first
   * event of a stream that joins must be readable.
   *
   * @returns what ends that
   */
  hold(tables: readonly string[]): () => void {
    if (!this.#readRelations(tables)) return () => undefined
    this.#joining += 1
    return () => {
      this.#joining -= 1
    }
  }

  async begin(): Promise<Position> {
    this.#releaseSnapshots()
    if (this.#joining > 0) this.#held = await this.#deps.snapshots.take()
    return this.#held === undefined ? await readEnd(this.#deps.database) : { passed: this.#held.text }
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
      if (this.isHeld) this.#next = await snapshots.take()
    }
    return await readLog(database, from, tables, batchSize, this.#next?.text)
  }

  async deliver(batch: Batch<LogEvent>): Promise<void> {
    const { listened, hub } = this.#deps
    const changed = await listened.lookAfter(batch.events, hub.tables)
    const position = positionAfterBatch(batch)
    hub.sendGap(changed, position)
    const events = batch.events.filter((event) => !listened.isOutdated(event))
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

  /** Returns whether policies of one of the tables read others. */
  #readRelations(tables: readonly string[]): boolean {
    const catalog = this.#deps.live.current
    return tables.some((table) => {
      const relation = findStreamed(catalog, table)
      if (relation === undefined) return false
      return readsRelations(relation, 'caller') || readsRelations(relation, 'anonymous')
    })
  }
}
