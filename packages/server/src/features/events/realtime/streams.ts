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
import { DefinitionWatch } from './changes/definitions.ts'
import { type LogEvent, readLog } from './changes/event.ts'
import { Follower } from './changes/follower.ts'
import { HeldSnapshots } from './changes/held-snapshots.ts'
import { Hub } from './changes/hub.ts'
import type { ListenedTables } from './changes/listened-tables.ts'
import { formatPosition, type Position } from './changes/position.ts'
import type { EventSelector } from './changes/select-events.ts'
import * as connections from './connections.ts'
import { realtimeErrors } from './errors.ts'
import type { Ending, Stream } from './stream.ts'

/** How often streams are looked at: their tokens, heartbeats and what others want of them. */
const lookMs = 500
/** How often other nodes hear of this one and its streams. */
const saveMs = 1000
/** Streams that end within so long are forgotten by one statement. */
const forgetMs = 20
/** Events read at once. */
const batchSize = 500

const noTables: ReadonlySet<string> = new Set()

export interface StreamsDeps {
  readonly config: Config['realtime']
  readonly live: LiveCatalog
  readonly database: SystemDatabase
  /** Connects beside the pools. */
  readonly openAside: () => Promise<Connection>
  readonly notifications: Pick<Notifications, 'watch'>
  readonly selector: EventSelector
  readonly listened: ListenedTables
  /** What the token is worth now. */
  readonly verify: (token: string) => Verdict | Promise<Verdict>
  readonly log: Logger
}

/** A kind of stream may have work of its own when one ends or is looked at. */
export interface StreamCompanion {
  channelsOf(stream: Stream): readonly string[]
  onLook(stream: Stream, now: number): void
  onEnd(stream: Stream): void
}

export interface Beginning {
  /** Whether the client comes back; who cannot be sent what it missed is told so. */
  readonly isResuming: boolean
  /** Those of the subscriptions that come back, when it listens to others already. */
  readonly only?: Subscriptions
  /**
   * Runs when it is certain where the stream begins, before the first event.
   *
   * @param position what to come back with; undefined while more is on its way to the stream
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
  readonly #watch: DefinitionWatch
  readonly #snapshots: HeldSnapshots
  /** Streams that are about to listen to tables whose policies read others. */
  #joining = 0
  readonly #streams = new Map<string, Stream>()
  readonly #changed = new Set<Stream>()
  readonly #gone = new Set<string>()
  #companion: StreamCompanion | undefined
  #isNodeKnown = false
  #isDraining = false
  #looking: NodeJS.Timeout | undefined
  #forgetting: NodeJS.Timeout | undefined
  #saving: NodeJS.Timeout | undefined
  #saved: Promise<void> = Promise.resolve()

  constructor(deps: StreamsDeps) {
    this.#deps = deps
    this.#hub = new Hub(deps.selector, deps.log)
    this.#watch = new DefinitionWatch(deps.live, deps.database)
    this.#snapshots = new HeldSnapshots(deps.openAside, deps.log)
    deps.listened.onMiss((tables) => {
      this.#follower
        .between((position) => this.#hub.tellGap(tables, position))
        // Without a place to go on from, better cut off than left with a hole.
        .catch(() => this.#endAll('server_error'))
    })
    this.#follower = new Follower({
      database: deps.database,
      notifications: deps.notifications,
      topic: outboxTopic,
      table: sql`basalt.outbox`,
      what: 'the log of changes',
      begin: () => this.#begin(),
      read: (from) => this.#read(from),
      isHeld: () => this.#joining > 0 || this.#needSnapshots(this.#hub.tables),
      deliver: async (batch) => {
        await this.#hub.deliver(batch, await this.#findSuspects(batch), this.#snapshots)
        // Behind the last page of the batch, the state at its end is the one before the next.
        if (batch.isComplete) this.#snapshots.keepOnly(this.#snapshots.at(batch.target))
      },
      onBreak: () => this.#tellGap(),
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
    const isHeld = this.#joining > 0 || this.#needSnapshots(tables)
    if (from.within !== undefined || !isHeld) return readLog(database, from, tables, batchSize)
    return this.#snapshots
      .take()
      .then((snapshot) => readLog(database, from, tables, batchSize, snapshot?.text))
  }

  #needSnapshots(tables: readonly string[]): boolean {
    const { relations } = this.#deps.live.current
    return tables.some((table) => {
      const relation = relations.get(table)
      return relation !== undefined && readsRelations(relation)
    })
  }

  /**
   * Runs the work between two steps.
   *
   * @param work receives the present, from which a stream may begin with these tables; where their policies read other
   *   tables it is a snapshot that is held, as the state before the first event must be readable
   */
  async #joinWith(
    tables: readonly string[],
    work: (present: Position, position: Position) => Promise<void>,
  ): Promise<void> {
    const isHeld = this.#needSnapshots(tables)
    if (isHeld) this.#joining += 1
    try {
      await this.#follower.between(
        async (position) => work(isHeld ? position : await readEnd(this.#deps.database), position),
        isHeld,
      )
    } finally {
      if (isHeld) this.#joining -= 1
    }
  }

  accompany(companion: StreamCompanion): void {
    this.#companion = companion
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

  requireOpen(): void {
    if (this.#isDraining) throw httpErrors.shuttingDown().retryAfter(1)
  }

  /**
   * Counts the stream among those of its user; from then on it ends by {@link Stream.end} or {@link Stream.leave}.
   *
   * @throws AppError connection_limit_exceeded, shutting_down
   */
  async admit(stream: Stream): Promise<void> {
    const { config } = this.#deps
    this.requireOpen()
    if (!this.#isNodeKnown) await this.#appear()
    const mayOpen = await this.#insert(stream, config.max_connections_per_user).catch((error) => {
      // The answer may have been lost, and the row not.
      this.#forget(stream.id)
      throw error
    })
    if (!mayOpen) throw realtimeErrors.connectionLimitExceeded().retryAfter(5)
    if (!stream.isOpen || this.#isDraining) {
      this.#forget(stream.id)
      this.requireOpen()
      return
    }
    this.#streams.set(stream.id, stream)
    this.#beginLooking()
  }

  async #insert(stream: Stream, limit: number): Promise<boolean> {
    const { database } = this.#deps
    try {
      return await connections.insertConnection(database, this.node, stream, limit)
    } catch (error) {
      // 23503: others took this node for dead.
      if (codeOf(error) !== '23503') throw error
      await this.#appear()
      return await connections.insertConnection(database, this.node, stream, limit)
    }
  }

  /** To be told when a stream has ended, whatever ended it. */
  onEnd(stream: Stream, ending: Ending | 'gone'): void {
    this.#hub.leave(stream)
    if (ending === 'slow_client') this.counters.droppedMessages += 1
    this.#changed.delete(stream)
    if (!this.#streams.delete(stream.id)) return
    this.#forget(stream.id)
    this.#companion?.onEnd(stream)
  }

  /**
   * Lets the stream listen to these tables and no others, from now on or from where it was.
   *
   * @param from undefined: from now on
   */
  async listen(
    stream: Stream,
    subscriptions: Subscriptions,
    from: Position | undefined,
    { isResuming, begin, only }: Beginning,
  ): Promise<void> {
    const { database, listened, selector, live } = this.#deps
    const tables = [...subscriptions.keys()]
    const watch = new DefinitionWatch(live, database)
    if (from !== undefined) await watch.look(tables)
    const loggedSince = await listened.listen(tables, from !== undefined)
    if (from !== undefined && (await isHeld(database, from, loggedSince))) {
      const missed = only ?? subscriptions
      // Meanwhile the stream goes on with the others, if there are any.
      stream.subscriptions = new Map([...subscriptions].filter(([table]) => !missed.has(table)))
      stream.isCatchingUp = true
      this.#hub.join(stream)
      begin(stream.subscriptions.size === 0 ? formatPosition(from) : undefined, false)
      const join = (work: (position: Position) => Promise<void>) => this.#joinWith(tables, work)
      const deps = { live, database, selector, hub: this.#hub, join }
      await catchUp(deps, stream, subscriptions, { from, tables: missed, watch })
      this.noteChange(stream)
      return
    }
    await this.#joinWith(tables, async (present, position) => {
      const fresh = tables.filter((table) => !stream.subscriptions.has(table))
      if (fresh.length > 0) {
        // How they look now is how the first event of them is expected to look.
        await this.#watch.look(fresh)
        const sent = fresh.map((table) => [table, present.passed] as const)
        stream.sentBefore = new Map([...stream.sentBefore, ...sent])
        begin(this.#placeOf(stream, present, position), isResuming)
      } else begin(this.#placeOf(stream, position, position), isResuming)
      stream.subscriptions = subscriptions
      this.noteChange(stream)
      this.#hub.join(stream)
    })
  }

  /** Where a stream stands that is about to join; one that listens to others already is where they are. */
  #placeOf(stream: Stream, own: Position, others: Position): string | undefined {
    if (stream.subscriptions.size === 0) return formatPosition(own)
    return stream.underWay === 0 && stream.isCertain ? formatPosition(others) : undefined
  }

  async #findSuspects({ events }: Batch<LogEvent>): Promise<ReadonlySet<string>> {
    return events.length === 0
      ? noTables
      : await this.#watch.look([...new Set(events.map(({ table }) => table))])
  }

  /** What the stream listens to has changed. */
  noteChange(stream: Stream): void {
    if (this.#streams.has(stream.id)) this.#changed.add(stream)
  }

  /** Puts the stream in its place after its listener has changed. */
  async rejoin(stream: Stream): Promise<void> {
    await this.#follower.between(() => this.#hub.join(stream))
  }

  /** Takes no more streams and ends those there are. */
  drain(): void {
    this.#isDraining = true
    this.#endAll('server_shutdown')
  }

  async stop(): Promise<void> {
    this.drain()
    clearInterval(this.#looking)
    clearInterval(this.#saving)
    clearTimeout(this.#forgetting)
    await this.#follower.stop()
    await this.#snapshots.close()
    await this.#saved
    if (this.#isNodeKnown) await connections.deleteNode(this.#deps.database, this.node).catch(() => undefined)
  }

  #endAll(ending: Ending): void {
    for (const stream of [...this.#streams.values()]) stream.end(ending)
  }

  #tellGap(): void {
    const { position } = this.#follower
    if (position === undefined) return
    for (const stream of this.#streams.values()) stream.gap(position)
  }

  async #appear(): Promise<void> {
    await connections.insertNode(this.#deps.database, this.node)
    this.#isNodeKnown = true
  }

  /** Soon, so that its user may open another one; those that end together go together. */
  #forget(id: string): void {
    this.#gone.add(id)
    this.#forgetting ??= setTimeout(() => {
      this.#forgetting = undefined
      this.#saved = this.#saved.then(() => this.#deleteGone()).catch(() => undefined)
    }, forgetMs)
  }

  /** What fails is tried again when the node is heard of next. */
  async #deleteGone(): Promise<void> {
    const gone = [...this.#gone]
    if (gone.length > 0) await connections.deleteConnections(this.#deps.database, gone)
    for (const id of gone) this.#gone.delete(id)
  }

  #beginLooking(): void {
    this.#looking ??= setInterval(() => void this.#look(), lookMs).unref()
    this.#saving ??= setInterval(() => {
      this.#saved = this.#saved.then(() => this.#save())
    }, saveMs).unref()
  }

  /** Ends streams whose token is worth nothing any more, and keeps the others alive. */
  async #look(): Promise<void> {
    const now = performance.now()
    const verdicts = new Map<string, Verdict | Promise<Verdict>>()
    const intervalMs = this.#deps.config.heartbeat_interval_seconds * 1000 - lookMs
    for (const stream of [...this.#streams.values()]) {
      const { token } = stream.listener
      if (token !== undefined) {
        const verdict = verdicts.get(token) ?? this.#deps.verify(token)
        verdicts.set(token, verdict)
        // Without the database nobody can say; nothing is told meanwhile, either.
        if (verdict instanceof Promise)
          verdict.then(
            // A WebSocket may have brought another one meanwhile.
            (known) => stream.listener.token === token && endUnlessGood(stream, known),
            () => undefined,
          )
        else endUnlessGood(stream, verdict)
      }
      this.#companion?.onLook(stream, now)
      if (stream.isOpen && now - stream.lastSentAt >= intervalMs) stream.heartbeat(this.#follower.position)
    }
  }

  async #save(): Promise<void> {
    const { database, listened, log } = this.#deps
    try {
      if (this.#streams.size === 0 && this.#gone.size === 0 && !this.#isNodeKnown) return
      const isKnown = await connections.touchNode(database, this.node, this.counters)
      // Others took this node for dead, or the table was lost with the database's memory of it.
      if (!isKnown) await this.#appear()
      const changed = isKnown ? [...this.#changed] : [...this.#streams.values()]
      this.#changed.clear()
      if (changed.length > 0) {
        const rows = changed.map((stream) => ({
          stream,
          channels: this.#companion?.channelsOf(stream) ?? [],
        }))
        await connections.saveConnections(database, this.node, rows)
      }
      await this.#deleteGone()
      for (const id of await connections.findUnwanted(database, this.node)) {
        this.#streams.get(id)?.end('disconnected')
      }
      await listened.renew(this.#hub.tables)
    } catch (error) {
      for (const stream of this.#streams.values()) this.#changed.add(stream)
      log.warn({ reason: messageOf(error) }, 'cannot note the open streams')
    }
  }
}

function endUnlessGood(stream: Stream, verdict: Verdict): void {
  if (!('identity' in verdict) || verdict.identity.kind !== 'user') stream.end('session_ended')
}
