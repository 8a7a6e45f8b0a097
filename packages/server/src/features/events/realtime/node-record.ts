import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { codeOf, messageOf } from '../../../lib/errors.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import * as connections from './connections.ts'
import type { Stream } from './stream.ts'

/** Milliseconds between two saves of this node’s state and streams. */
const saveMs = 1000
/** Milliseconds within which one statement deletes all ended streams. */
const deleteMs = 20
/** Milliseconds without streams after which a node is idle. */
const idleMs = 10_000
/** Milliseconds between two saves of an idle node. They are fewer than a node may remain unseen. */
const idleSaveMs = (connections.nodeLifeSeconds * 1000) / 2

export interface NodeRecordDeps {
  readonly database: SystemDatabase
  readonly node: string
  /** Open streams of this node. */
  readonly streams: ReadonlyMap<string, Stream>
  readonly counters: { readonly droppedMessages: number; readonly heartbeatFailures: number }
  /** Renews the interest in tables with streams on this node. */
  readonly renewTables: () => Promise<unknown>
  readonly log: Logger
}

/**
 * Record of this node and its streams in the database, where the streams of all nodes are counted, listed and
 * disconnected. A node that becomes idle deletes its record. If it has counted anything, it keeps the record and saves it
 * less often, because the counters of all nodes are summed.
 */
export class NodeRecord {
  readonly #deps: NodeRecordDeps
  readonly #changed = new Set<Stream>()
  /** Ids of streams whose rows are to be deleted. */
  readonly #ended = new Set<string>()
  #isKnown = false
  /** Number of streams that are being inserted. */
  #inserting = 0
  /** Time at which this node last had a stream. */
  #usedAt = Number.NEGATIVE_INFINITY
  #savedAt = Number.NEGATIVE_INFINITY
  /** Deletion of this node in progress. It would take the streams with it. */
  #removal: Promise<void> | undefined
  #deleting: NodeJS.Timeout | undefined
  #saving: NodeJS.Timeout | undefined
  readonly #writes = new TaskQueue()

  constructor(deps: NodeRecordDeps) {
    this.#deps = deps
  }

  /**
   * Inserts a stream, whose changes are saved from then on. @returns false if its user or address has reached the limit
   */
  async insert(stream: Stream, limits: connections.ConnectionLimits): Promise<boolean> {
    const { database, node } = this.#deps
    this.#inserting += 1
    try {
      this.#saving ??= setInterval(() => void this.#writes.add(() => this.#save()), saveMs).unref()
      await this.#removal
      if (!this.#isKnown) await this.#register()
      return await connections.insertConnection(database, node, stream, limits).catch(async (error) => {
        // SQLSTATE 23503: the node was deleted as dead.
        if (codeOf(error) !== '23503') throw error
        await this.#register()
        return await connections.insertConnection(database, node, stream, limits)
      })
    } catch (error) {
      // The response may have been lost although the row was inserted.
      this.delete(stream)
      throw error
    } finally {
      this.#usedAt = performance.now()
      this.#inserting -= 1
    }
  }

  /** Registers that the subscriptions or channels of the stream have changed. */
  noteChange(stream: Stream): void {
    if (this.#deps.streams.has(stream.id)) this.#changed.add(stream)
  }

  /** Deletes a stream soon, so that its user may open another one. Streams that end together are deleted together. */
  delete(stream: Stream): void {
    this.#changed.delete(stream)
    this.#ended.add(stream.id)
    this.#deleting ??= setTimeout(() => {
      this.#deleting = undefined
      this.#writes.add(() => this.#deleteEnded()).catch(() => undefined)
    }, deleteMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#saving)
    clearTimeout(this.#deleting)
    await this.#writes.idle()
    const { database, node } = this.#deps
    if (this.#isKnown) await connections.deleteNode(database, node).catch(() => undefined)
  }

  async #register(): Promise<void> {
    await connections.insertNode(this.#deps.database, this.#deps.node)
    this.#isKnown = true
  }

  /** Deletes the rows of streams that have ended. The next save retries it. */
  async #deleteEnded(): Promise<void> {
    const ended = [...this.#ended]
    if (ended.length > 0) await connections.deleteConnections(this.#deps.database, ended)
    for (const id of ended) this.#ended.delete(id)
  }

  /** Deletes the record of this idle node, which the next stream inserts again. */
  #remove(): Promise<void> {
    clearInterval(this.#saving)
    this.#saving = undefined
    this.#isKnown = false
    const { database, node, log } = this.#deps
    this.#removal = connections
      .deleteNode(database, node)
      .catch((error) =>
        // The record expires like that of a dead node.
        log.warn({ reason: messageOf(error) }, 'failed to delete the record of a node without streams'),
      )
      .finally(() => {
        this.#removal = undefined
      })
    return this.#removal
  }

  /** Returns true if this node has had no stream for a while. */
  #isIdle(now: number): boolean {
    if (this.#deps.streams.size > 0) this.#usedAt = now
    const isUsed = this.#inserting > 0 || this.#ended.size > 0
    return !isUsed && now - this.#usedAt > idleMs
  }

  async #save(): Promise<void> {
    const { database, node, streams, counters, renewTables, log } = this.#deps
    // The interval has ended.
    if (this.#saving === undefined) return
    const now = performance.now()
    if (this.#isIdle(now)) {
      const hasCounted = counters.droppedMessages > 0 || counters.heartbeatFailures > 0
      if (!hasCounted) return await this.#remove()
      if (now - this.#savedAt < idleSaveMs) return
    }
    if (streams.size === 0 && this.#ended.size === 0 && !this.#isKnown) return
    try {
      this.#savedAt = now
      const isKnown = await connections.touchNode(database, node, counters)
      // The node was deleted as dead, or lost in a database crash.
      if (!isKnown) await this.#register()
      const changed = isKnown ? [...this.#changed] : [...streams.values()]
      this.#changed.clear()
      if (changed.length > 0) await connections.saveConnections(database, node, changed)
      await this.#deleteEnded()
      for (const id of await connections.findDisconnectRequests(database, node)) {
        streams.get(id)?.end('disconnected')
      }
      await renewTables()
    } catch (error) {
      for (const stream of streams.values()) this.#changed.add(stream)
      log.warn({ reason: messageOf(error) }, 'failed to save the open streams; retrying in 1 s')
    }
  }
}
