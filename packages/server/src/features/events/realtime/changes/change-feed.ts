import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Connection } from '../../../../database/connection/connection.ts'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { outboxTopic } from '../../outbox/index.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import { type Batch, positionAfterBatch, readEnd } from './batch.ts'
import { catchUp, isHeld } from './catch-up.ts'
import { readsRelations } from './decision-statements.ts'
import { type LogEvent, readLog } from './event.ts'
import { Follower } from './follower.ts'
import { type HeldSnapshot, HeldSnapshots } from './held-snapshots.ts'
import { Hub } from './hub.ts'
import type { ListenedTables } from './listened-tables.ts'
import { formatPosition, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import { SentLog } from './sent-log.ts'
import { findStreamed } from './streamed.ts'

/** Events read at once. */
const batchSize = 500

export interface ChangeFeedDeps {
  /** This node, in the record of what was sent. */
  readonly node: string
  /** Whether it is recorded who was sent an event. */
  readonly isSentRecorded: boolean
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  /** Connects beside the pools. */
  readonly openAside: () => Promise<Connection>
  readonly notifications: Pick<Notifications, 'watch'>
  readonly selector: EventSelector
  readonly listened: ListenedTables
  /** The subscriptions of the stream have changed. */
  readonly onSubscribe: (stream: Stream) => void
  /** The log is not the one that was read before: all streams may miss events before the position. */
  readonly onBreak: (position: Position) => void
  readonly log: Logger
}

export interface Beginning {
  /** Whether the client resumes: it receives a gap when it cannot be sent what it missed. */
  readonly isResuming: boolean
  /** Those of the subscriptions that it resumes, when it has others already. */
  readonly only?: Subscriptions
  /**
   * Runs when it is certain where the stream begins, before the first event.
   *
   * @param position where to resume; undefined while earlier events are in flight to the stream
   */
  readonly begin: (position: string | undefined, hasGap: boolean) => void
}

/** Hands what is appended to the log of changes to the streams of this node, from the position that each joins at. */
export class ChangeFeed {
  readonly #deps: ChangeFeedDeps
  readonly #hub: Hub
  readonly #follower: Follower<LogEvent>
  readonly #snapshots: HeldSnapshots
  readonly #sent: SentLog
  /** The state at the position of the follower, and the one that is read up to; undefined where they are not held. */
  #held: HeldSnapshot | undefined
  #next: HeldSnapshot | undefined
  /** Streams that are about to join tables whose policies read others. */
  #joining = 0

  constructor(deps: ChangeFeedDeps) {
    const { node, isSentRecorded, database, notifications, selector, openAside, log } = deps
    this.#deps = deps
    this.#sent = new SentLog({ database, node, isKept: isSentRecorded, log })
    this.#hub = new Hub(selector, this.#sent, log)
    this.#snapshots = new HeldSnapshots(openAside, log)
    this.#follower = new Follower({
      database,
      notifications,
      topic: outboxTopic,
      table: sql`basalt.outbox`,
      what: 'the log of changes',
      begin: () => this.#begin(),
      read: (from) => this.#read(from),
      isHeld: () => this.#isHeld(this.#hub.tables),
      deliver: (batch) => this.#deliver(batch),
      onBreak: () => {
        if (this.position !== undefined) deps.onBreak(this.position)
      },
      log,
    })
  }

  /** How far the log has been read for all streams; undefined while there are none. */
  get position(): Position | undefined {
    return this.#follower.position
  }

  /** Those that streams listen to. */
  get tables(): readonly string[] {
    return this.#hub.tables
  }

  /** Events of which is not recorded who was sent them. */
  get unrecorded(): number {
    return this.#sent.dropped
  }

  /**
   * Subscribes the stream to these tables and no others, from now on or from a position.
   *
   * @param from undefined: from now on
   */
  async listen(
    stream: Stream,
    subscriptions: Subscriptions,
    from: Position | undefined,
    { isResuming, begin, only }: Beginning,
  ): Promise<void> {
    const { database, listened, selector } = this.#deps
    const tables = [...subscriptions.keys()]
    const isLate = await listened.listen(tables)
    const fresh = tables.filter((table) => !stream.subscriptions.has(table))
    // Before the stream has its position, so that a client that resumes from there is past what changed before.
    const loggedSince = await listened.look(from === undefined ? fresh : tables)
    if (from !== undefined && (await isHeld(database, from, loggedSince))) {
      const missed = only ?? subscriptions
      // Meanwhile the stream continues with its other tables, if there are any.
      stream.subscriptions = new Map([...subscriptions].filter(([table]) => !missed.has(table)))
      stream.isCatchingUp = true
      this.#hub.join(stream)
      begin(stream.subscriptions.size === 0 ? formatPosition(from) : undefined, false)
      const join = (work: (position: Position) => void) => this.#join(tables, work)
      const deps = { database, listened, selector, hub: this.#hub, sent: this.#sent, join }
      await catchUp(deps, stream, subscriptions, { from, tables: missed, loggedSince })
      this.#deps.onSubscribe(stream)
      return
    }
    const join = (position: Position) => {
      // A stream with other subscriptions may still have to be sent what precedes the position.
      const isCertain = stream.subscriptions.size === 0 || stream.isUpToDate
      // A client that does not wait for the beginning may have written meanwhile.
      begin(isCertain ? formatPosition(position) : undefined, isResuming || isLate)
      stream.subscriptions = subscriptions
      this.#deps.onSubscribe(stream)
      this.#hub.join(stream)
    }
    if (fresh.length > 0) await this.#join(fresh, join)
    else await this.#follower.between(join)
  }

  /** Regroups the stream after its listener has changed. */
  async rejoin(stream: Stream): Promise<void> {
    await this.#follower.between(() => this.#hub.join(stream))
  }

  leave(stream: Stream): void {
    this.#hub.leave(stream)
  }

  async stop(): Promise<void> {
    await this.#follower.stop()
    await this.#snapshots.close()
    await this.#sent.stop()
  }

  async #begin(): Promise<Position> {
    this.#releaseSnapshots()
    if (this.#joining > 0) this.#held = await this.#snapshots.take()
    return this.#held === undefined ? await readEnd(this.#deps.database) : { passed: this.#held.text }
  }

  /** Where policies read other tables, the state that is read up to is held: it is the state before what comes next. */
  async #read(from: Position): Promise<Batch<LogEvent> | undefined> {
    const { tables } = this.#hub
    if (tables.length === 0) {
      this.#releaseSnapshots()
      return undefined
    }
    if (from.within === undefined) {
      this.#next?.release()
      this.#next = undefined
      if (this.#isHeld(tables)) this.#next = await this.#snapshots.take()
    }
    return await readLog(this.#deps.database, from, tables, batchSize, this.#next?.text)
  }

  async #deliver(batch: Batch<LogEvent>): Promise<void> {
    const { listened } = this.#deps
    const changed = await listened.lookAfter(batch.events, this.#hub.tables)
    const position = positionAfterBatch(batch)
    this.#hub.sendGap(changed, position)
    const events = batch.events.filter((event) => !listened.isOutdated(event))
    const before = this.#held?.isReadable === true ? this.#held : undefined
    await this.#hub.deliver({ ...batch, events }, position, before)
    if (!batch.isComplete) return
    this.#held?.release()
    this.#held = this.#next
    this.#next = undefined
  }

  #releaseSnapshots(): void {
    this.#held?.release()
    this.#next?.release()
    this.#held = undefined
    this.#next = undefined
  }

  #isHeld(tables: readonly string[]): boolean {
    return this.#joining > 0 || this.#readRelations(tables)
  }

  /** Whether policies of one of the tables read others. */
  #readRelations(tables: readonly string[]): boolean {
    const catalog = this.#deps.live.current
    return tables.some((table) => {
      const relation = findStreamed(catalog, table)
      if (relation === undefined) return false
      return readsRelations(relation, 'caller') || readsRelations(relation, 'anonymous')
    })
  }

  /**
   * Runs the work between two steps of the follower, at a position from after this call.
   *
   * @param tables those that a stream joins with; where their policies read others, the position is a snapshot that is
   *   held, as the state before the first event must be readable
   */
  async #join(tables: readonly string[], work: (position: Position) => void): Promise<void> {
    const { listened } = this.#deps
    const isHeld = this.#readRelations(tables)
    if (isHeld) this.#joining += 1
    try {
      await this.#follower.between((position) => {
        // A change from before concerns the streams of before.
        this.#hub.sendGap(listened.takeChanged(), position)
        work(position)
      }, true)
    } finally {
      if (isHeld) this.#joining -= 1
    }
  }
}
