import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../../../config/schema.ts'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Connection } from '../../../database/connection.ts'
import type { Notifications } from '../../../database/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors.ts'
import type { Verdict } from '../../../http/identity.ts'
import { codeOf, messageOf } from '../../../lib/errors.ts'
import { outboxTopic } from '../outbox/index.ts'
import type { Subscriptions } from './changes/audience.ts'
import { type Batch, readEnd } from './changes/batch.ts'
import { catchUp, isHeld } from './changes/catch-up.ts'
import { readsRelations } from './changes/decision-statements.ts'
import { type LogEvent, readLog } from './changes/event.ts'
import { Follower } from './changes/follower.ts'
import { HeldSnapshots } from './changes/held-snapshots.ts'
import { Hub } from './changes/hub.ts'
import type { ListenedTables } from './changes/listened-tables.ts'
import { formatPosition, type Position } from './changes/position.ts'
import type { EventSelector } from './changes/select-events.ts'
import { SentLog } from './changes/sent-log.ts'
import { findStreamed } from './changes/streamed.ts'
import * as connections from './connections.ts'
import { realtimeErrors } from './errors.ts'
import type { Ending, Stream } from './stream.ts'

/** How often the tokens and heartbeats of streams are due to be looked at. */
const lookMs = 500
/** How often this node shows in the database that it is alive, with its streams. */
const saveMs = 1000
/** Streams that end within so long are deleted by one statement. */
const deleteMs = 20
/** Events read at once. */
const batchSize = 500

export interface StreamsDeps {
  readonly config: Config['realtime']
  /** Limits per address are a hundred times as wide then. */
  readonly isDevelopment: boolean
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  /** Connects beside the pools. */
  readonly openAside: () => Promise<Connection>
  readonly notifications: Pick<Notifications, 'watch'>
  readonly selector: EventSelector
  readonly listened: ListenedTables
  /** Whether the token is still valid. */
  readonly verify: (token: string) => Verdict | Promise<Verdict>
  readonly log: Logger
}

/** What WebSockets add to the life of a stream. */
export interface StreamHooks {
  channelsOf(stream: Stream): readonly string[]
  onLook(stream: Stream, now: number): void
  onEnd(stream: Stream): void
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

/** Every open stream of this node, from its admission to its end. */
export class Streams {
  readonly counters = { droppedMessages: 0, heartbeatFailures: 0 }
  readonly node = randomUUID()
  readonly #deps: StreamsDeps
  readonly #hub: Hub
  readonly #follower: Follower<LogEvent>
  readonly #snapshots: HeldSnapshots
  readonly #sent: SentLog
  /** Streams that are about to join tables whose policies read others. */
  #joining = 0
  readonly #streams = new Map<string, Stream>()
  readonly #changed = new Set<Stream>()
  readonly #ended = new Set<string>()
  #hooks: StreamHooks | undefined
  #isNodeKnown = false
  #isDraining = false
  #looking: NodeJS.Timeout | undefined
  #deleting: NodeJS.Timeout | undefined
  #saving: NodeJS.Timeout | undefined
  #saved: Promise<void> = Promise.resolve()

  constructor(deps: StreamsDeps) {
    this.#deps = deps
    this.#sent = new SentLog({
      database: deps.database,
      node: this.node,
      isKept: deps.config.sent_retention_hours > 0,
      log: deps.log,
    })
    this.#hub = new Hub(deps.selector, this.#sent, deps.log)
    this.#snapshots = new HeldSnapshots(deps.openAside, deps.log)
    this.#follower = new Follower({
      database: deps.database,
      notifications: deps.notifications,
      topic: outboxTopic,
      table: sql`basalt.outbox`,
      what: 'the log of changes',
      begin: () => this.#begin(),
      read: (from) => this.#read(from),
      isHeld: () => this.#isHeld(this.#hub.tables),
      deliver: (batch) => this.#deliver(batch),
      onBreak: () => this.#sendGap(),
      log: deps.log,
    })
  }

  async #begin(): Promise<Position> {
    this.#snapshots.keepOnly()
    const snapshot = this.#joining > 0 ? await this.#snapshots.take() : undefined
    return snapshot === undefined ? await readEnd(this.#deps.database) : { passed: snapshot.text }
  }

  /** Where policies read other tables, the state that is read up to is held: it is the state before what comes next. */
  #read(from: Position): Promise<Batch<LogEvent>> | undefined {
    const { tables } = this.#hub
    const { database } = this.#deps
    if (tables.length === 0) {
      this.#snapshots.keepOnly()
      return undefined
    }
    if (from.within !== undefined || !this.#isHeld(tables)) return readLog(database, from, tables, batchSize)
    return this.#snapshots
      .take()
      .then((snapshot) => readLog(database, from, tables, batchSize, snapshot?.text))
  }

  async #deliver(batch: Batch<LogEvent>): Promise<void> {
    const { listened } = this.#deps
    const changed = await listened.lookAfter(batch.events, this.#hub.tables)
    await this.#hub.deliver(batch, changed, (event) => listened.isOutdated(event), this.#snapshots)
    // After the last page of the batch, the state at its end is the one before the next.
    if (batch.isComplete) this.#snapshots.keepOnly(this.#snapshots.at(batch.target))
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

  attach(hooks: StreamHooks): void {
    this.#hooks = hooks
  }

  get(id: string): Stream | undefined {
    return this.#streams.get(id)
  }

  /** Open streams by transport. */
  get counts(): Readonly<Record<'sse' | 'ws', number>> {
    const counts = { sse: 0, ws: 0 }
    for (const { transport } of this.#streams.values()) counts[transport.name] += 1
    return counts
  }

  /** Events of which is not recorded who was sent them. */
  get unrecorded(): number {
    return this.#sent.dropped
  }

  requireOpen(): void {
    if (this.#isDraining) throw httpErrors.shuttingDown().retryAfter(1)
  }

  /**
   * Counts the stream among those of its user, or without a token of its address; from then on it ends by {@link Stream.end} or {@link Stream.leave}.
   *
   * @throws AppError connection_limit_exceeded, shutting_down
   */
  async admit(stream: Stream): Promise<void> {
    const { config, isDevelopment } = this.#deps
    this.requireOpen()
    if (!this.#isNodeKnown) await this.#appear()
    const limits = {
      perUser: config.max_connections_per_user,
      perAddress: config.max_anonymous_connections_per_address * (isDevelopment ? 100 : 1),
    }
    const mayOpen = await this.#insert(stream, limits).catch((error) => {
      // The answer may have been lost, and the row not.
      this.#deleteSoon(stream.id)
      throw error
    })
    if (!mayOpen) throw realtimeErrors.connectionLimitExceeded().retryAfter(5)
    if (!stream.isOpen || this.#isDraining) {
      this.#deleteSoon(stream.id)
      this.requireOpen()
      return
    }
    this.#streams.set(stream.id, stream)
    this.#beginLooking()
  }

  async #insert(stream: Stream, limits: connections.ConnectionLimits): Promise<boolean> {
    const { database } = this.#deps
    try {
      return await connections.insertConnection(database, this.node, stream, limits)
    } catch (error) {
      // 23503: the node was deleted as dead.
      if (codeOf(error) !== '23503') throw error
      await this.#appear()
      return await connections.insertConnection(database, this.node, stream, limits)
    }
  }

  /** To be called when a stream has ended, whatever ended it. */
  onEnd(stream: Stream, ending: Ending | 'gone'): void {
    this.#hub.leave(stream)
    if (ending === 'slow_client') this.counters.droppedMessages += 1
    this.#changed.delete(stream)
    if (!this.#streams.delete(stream.id)) return
    this.#deleteSoon(stream.id)
    this.#hooks?.onEnd(stream)
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
    await listened.listen(tables)
    const fresh = tables.filter((table) => !stream.subscriptions.has(table))
    // Before the stream has its position, so that a client that resumes from there is past what changed before.
    const loggedSince = await listened.look(from === undefined ? fresh : tables)
    if (from !== undefined) {
      if (await isHeld(database, from, loggedSince)) {
        const missed = only ?? subscriptions
        // Meanwhile the stream continues with its other tables, if there are any.
        stream.subscriptions = new Map([...subscriptions].filter(([table]) => !missed.has(table)))
        stream.isCatchingUp = true
        this.#hub.join(stream)
        begin(stream.subscriptions.size === 0 ? formatPosition(from) : undefined, false)
        const join = (work: (position: Position) => void) => this.#join(tables, work)
        const deps = { database, listened, selector, hub: this.#hub, sent: this.#sent, join }
        await catchUp(deps, stream, subscriptions, { from, tables: missed, loggedSince })
        this.noteChange(stream)
        return
      }
    }
    const join = (position: Position) => {
      // A stream with other subscriptions may still have to be sent what precedes the position.
      const isCertain = stream.subscriptions.size === 0 || (stream.inFlight === 0 && stream.isCertain)
      begin(isCertain ? formatPosition(position) : undefined, isResuming)
      stream.subscriptions = subscriptions
      this.noteChange(stream)
      this.#hub.join(stream)
    }
    if (fresh.length > 0) await this.#join(fresh, join)
    else await this.#follower.between(join)
  }

  /** The subscriptions of the stream have changed. */
  noteChange(stream: Stream): void {
    if (this.#streams.has(stream.id)) this.#changed.add(stream)
  }

  /** Regroups the stream after its listener has changed. */
  async rejoin(stream: Stream): Promise<void> {
    await this.#follower.between(() => this.#hub.join(stream))
  }

  /** Admits no more streams and ends those that are open. */
  drain(): void {
    this.#isDraining = true
    this.#endAll('server_shutdown')
  }

  async stop(): Promise<void> {
    this.drain()
    clearInterval(this.#looking)
    clearInterval(this.#saving)
    clearTimeout(this.#deleting)
    await this.#follower.stop()
    await this.#snapshots.close()
    await this.#sent.stop()
    await this.#saved
    if (this.#isNodeKnown) await connections.deleteNode(this.#deps.database, this.node).catch(() => undefined)
  }

  #endAll(ending: Ending): void {
    for (const stream of [...this.#streams.values()]) stream.end(ending)
  }

  #sendGap(): void {
    const { position } = this.#follower
    if (position === undefined) return
    for (const stream of this.#streams.values()) stream.gap(position)
  }

  async #appear(): Promise<void> {
    await connections.insertNode(this.#deps.database, this.node)
    this.#isNodeKnown = true
  }

  /** Soon, so that its user may open another one; those that end together are deleted together. */
  #deleteSoon(id: string): void {
    this.#ended.add(id)
    this.#deleting ??= setTimeout(() => {
      this.#deleting = undefined
      this.#saved = this.#saved.then(() => this.#deleteEnded()).catch(() => undefined)
    }, deleteMs)
  }

  /** What fails is retried with the next save. */
  async #deleteEnded(): Promise<void> {
    const ended = [...this.#ended]
    if (ended.length > 0) await connections.deleteConnections(this.#deps.database, ended)
    for (const id of ended) this.#ended.delete(id)
  }

  #beginLooking(): void {
    this.#looking ??= setInterval(() => void this.#look(), lookMs).unref()
    this.#saving ??= setInterval(() => {
      this.#saved = this.#saved.then(() => this.#save())
    }, saveMs).unref()
  }

  /** Ends streams whose token is no longer valid, and keeps the others alive. */
  async #look(): Promise<void> {
    const now = performance.now()
    const verdicts = new Map<string, Verdict | Promise<Verdict>>()
    const intervalMs = this.#deps.config.heartbeat_interval_seconds * 1000 - lookMs
    for (const stream of [...this.#streams.values()]) {
      const { token } = stream.listener
      if (token !== undefined) {
        const verdict = verdicts.get(token) ?? this.#deps.verify(token)
        verdicts.set(token, verdict)
        // Without the database it is unknown; nothing is delivered meanwhile, either.
        if (verdict instanceof Promise)
          verdict.then(
            // A WebSocket may have brought another one meanwhile.
            (known) => stream.listener.token === token && endUnlessValid(stream, known),
            () => undefined,
          )
        else endUnlessValid(stream, verdict)
      }
      this.#hooks?.onLook(stream, now)
      if (stream.isOpen && now - stream.lastSentAt >= intervalMs) stream.heartbeat(this.#follower.position)
    }
  }

  async #save(): Promise<void> {
    const { database, listened, log } = this.#deps
    try {
      if (this.#streams.size === 0 && this.#ended.size === 0 && !this.#isNodeKnown) return
      const isKnown = await connections.touchNode(database, this.node, this.counters)
      // Deleted as dead, or lost in a crash of the database.
      if (!isKnown) await this.#appear()
      const changed = isKnown ? [...this.#changed] : [...this.#streams.values()]
      this.#changed.clear()
      if (changed.length > 0) {
        const rows = changed.map((stream) => ({
          stream,
          channels: this.#hooks?.channelsOf(stream) ?? [],
        }))
        await connections.saveConnections(database, this.node, rows)
      }
      await this.#deleteEnded()
      for (const id of await connections.findDisconnectRequests(database, this.node)) {
        this.#streams.get(id)?.end('disconnected')
      }
      await listened.renew(this.#hub.tables)
    } catch (error) {
      for (const stream of this.#streams.values()) this.#changed.add(stream)
      log.warn({ reason: messageOf(error) }, 'failed to save the open streams; retrying in 1 s')
    }
  }
}

function endUnlessValid(stream: Stream, verdict: Verdict): void {
  const isSignedIn = 'identity' in verdict && ['user', 'admin'].includes(verdict.identity.kind)
  if (!isSignedIn) stream.end('session_ended')
}
