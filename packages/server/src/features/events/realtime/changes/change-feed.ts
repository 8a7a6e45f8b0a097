import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Connection } from '../../../../database/connection/connection.ts'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import { catchUp, isHeld } from './catch-up.ts'
import { ChangeLog } from './change-log.ts'
import type { LogEvent } from './event.ts'
import { Follower } from './follower.ts'
import { HeldSnapshots } from './held-snapshots.ts'
import { Hub } from './hub.ts'
import type { ListenedTables } from './listened-tables.ts'
import { formatPosition, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import { SentLog } from './sent-log.ts'

export interface ChangeFeedDeps {
  /** This node, in the record of what was sent. */
  readonly node: string
  /** True if the receivers of events are recorded. */
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
  /** True if the client resumes: it receives a gap when it cannot be sent what it missed. */
  readonly isResuming: boolean
  /** Subscriptions that it resumes, when it has others already. */
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
  readonly #changes: ChangeLog
  readonly #follower: Follower<LogEvent>
  readonly #snapshots: HeldSnapshots
  readonly #sent: SentLog

  constructor(deps: ChangeFeedDeps) {
    const {
      node,
      isSentRecorded,
      database,
      live,
      listened,
      notifications,
      selector,
      openAside,
      onBreak,
      log,
    } = deps
    this.#deps = deps
    this.#sent = new SentLog({ database, node, isKept: isSentRecorded, log })
    this.#hub = new Hub(selector, this.#sent, log)
    this.#snapshots = new HeldSnapshots(openAside, log)
    const followed = { database, live, listened, hub: this.#hub, snapshots: this.#snapshots, onBreak }
    this.#changes = new ChangeLog(followed)
    this.#follower = new Follower({ notifications, log }, this.#changes)
  }

  /** Position up to which the log has been read for all streams; undefined while there are none. */
  get position(): Position | undefined {
    return this.#follower.position
  }

  /** Tables that have streams. */
  get tables(): readonly string[] {
    return this.#hub.tables
  }

  /** Events whose receivers are not recorded. */
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
      stream.beginCatchUp(new Map([...subscriptions].filter(([table]) => !missed.has(table))))
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
      stream.subscribe(subscriptions)
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

  /**
   * Runs the work between two steps of the follower, at a position from after this call.
   *
   * @param tables those that a stream joins with
   */
  async #join(tables: readonly string[], work: (position: Position) => void): Promise<void> {
    const release = this.#changes.hold(tables)
    try {
      await this.#follower.between((position) => {
        // A change from before concerns the streams of before.
        this.#hub.sendGap(this.#deps.listened.takeChanged(), position)
        work(position)
      }, true)
    } finally {
      release()
    }
  }
}
