import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Connection } from '../../../../database/connection/connection.ts'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import { catchUp, isRetained } from './catch-up.ts'
import { ChangeLog } from './change-log.ts'
import type { LogEvent } from './event.ts'
import { Follower } from './follower.ts'
import { HeldSnapshots } from './held-snapshots.ts'
import { Hub } from './hub.ts'
import { formatPosition, type Position } from './position.ts'
import type { EventSelector } from './select-events.ts'
import { SentLog } from './sent-log.ts'
import type { TableRegistry } from './table-registry.ts'

export interface ChangeFeedDeps {
  /** Id of this node in the record of sent events. */
  readonly node: string
  /** True if the receivers of events are recorded. */
  readonly isSentRecorded: boolean
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  /** Opens a connection outside the pools. */
  readonly openAside: () => Promise<Connection>
  readonly notifications: Pick<Notifications, 'watch'>
  readonly selector: EventSelector
  readonly registry: TableRegistry
  /** Runs after the subscriptions of a stream have changed. */
  readonly onSubscribe: (stream: Stream) => void
  /** Runs when the log is another one than before. All streams may then miss events before the position. */
  readonly onBreak: (position: Position) => void
  readonly log: Logger
}

export interface SubscribeOptions {
  /** True if the client resumes. It receives a gap if its missed events cannot be sent. */
  readonly isResuming: boolean
  /** Subscriptions that the client resumes, if it has others already. */
  readonly only?: Subscriptions
  /**
   * Runs when the start of the stream is certain, before the first event.
   *
   * @param position the position to resume at; undefined while earlier events are in flight to the stream
   */
  readonly begin: (position: string | undefined, hasGap: boolean) => void
}

/**
 * Feed that sends new events of the log of changes to the streams of this node. Each stream receives events from the
 * position of its attachment.
 */
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
      registry,
      notifications,
      selector,
      openAside,
      onBreak,
      log,
    } = deps
    this.#deps = deps
    this.#sent = new SentLog({ database, node, isEnabled: isSentRecorded, log })
    this.#hub = new Hub(selector, this.#sent, log)
    this.#snapshots = new HeldSnapshots(openAside, log)
    const logDeps = { database, live, registry, hub: this.#hub, snapshots: this.#snapshots, onBreak }
    this.#changes = new ChangeLog(logDeps)
    this.#follower = new Follower({ notifications, log }, this.#changes)
  }

  /** Position up to which the log has been read for all streams; undefined without streams. */
  get position(): Position | undefined {
    return this.#follower.position
  }

  /** Tables that have streams. */
  get tables(): readonly string[] {
    return this.#hub.tables
  }

  /** Number of events whose receivers were not recorded. */
  get unrecorded(): number {
    return this.#sent.dropped
  }

  /**
   * Subscribes the stream to these tables and no others, from now on or from a position.
   *
   * @param from undefined means from now on
   */
  async subscribe(
    stream: Stream,
    subscriptions: Subscriptions,
    from: Position | undefined,
    { isResuming, begin, only }: SubscribeOptions,
  ): Promise<void> {
    const { database, registry, selector } = this.#deps
    const tables = [...subscriptions.keys()]
    const isDelayed = await registry.register(tables)
    const fresh = tables.filter((table) => !stream.subscriptions.has(table))
    // The tables are checked before the stream has its position, so that a client that resumes from there is past
    // earlier changes.
    const loggedSince = await registry.check(from === undefined ? fresh : tables)
    if (from !== undefined && (await isRetained(database, from, loggedSince))) {
      const missed = only ?? subscriptions
      // The stream meanwhile continues with its other tables, if it has any.
      stream.beginCatchUp(new Map([...subscriptions].filter(([table]) => !missed.has(table))))
      this.#hub.attach(stream)
      begin(stream.subscriptions.size === 0 ? formatPosition(from) : undefined, false)
      const attach = (work: (position: Position) => void) => this.#attach(tables, work)
      const deps = { database, registry, selector, hub: this.#hub, sent: this.#sent, attach }
      await catchUp(deps, stream, subscriptions, { from, tables: missed, loggedSince })
      this.#deps.onSubscribe(stream)
      return
    }
    const attach = (position: Position) => {
      // A stream with other subscriptions may still have to receive events before the position.
      const isCertain = stream.subscriptions.size === 0 || stream.isUpToDate
      // A client that does not wait for the start may have written meanwhile.
      begin(isCertain ? formatPosition(position) : undefined, isResuming || isDelayed)
      stream.subscribe(subscriptions)
      this.#deps.onSubscribe(stream)
      this.#hub.attach(stream)
    }
    if (fresh.length > 0) await this.#attach(fresh, attach)
    else await this.#follower.between(attach)
  }

  /** Regroups the stream after its listener has changed. */
  async reattach(stream: Stream): Promise<void> {
    await this.#follower.between(() => this.#hub.attach(stream))
  }

  detach(stream: Stream): void {
    this.#hub.detach(stream)
  }

  async stop(): Promise<void> {
    await this.#follower.stop()
    await this.#snapshots.close()
    await this.#sent.stop()
  }

  /**
   * Runs work between two steps of the follower, at a position later than this call.
   *
   * @param tables tables with which a stream attaches
   */
  async #attach(tables: readonly string[], work: (position: Position) => void): Promise<void> {
    const release = this.#changes.hold(tables)
    try {
      await this.#follower.between((position) => {
        // An earlier change concerns only the streams that were attached before.
        this.#hub.sendGap(this.#deps.registry.drainChanged(), position)
        work(position)
      }, true)
    } finally {
      release()
    }
  }
}
