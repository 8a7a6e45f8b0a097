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
 * disconnected.
 */
export class NodeRecord {
  readonly #deps: NodeRecordDeps
  readonly #changed = new Set<Stream>()
  /** Ids of streams whose rows are to be deleted. */
  readonly #ended = new Set<string>()
  #isKnown = false
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
    this.#saving ??= setInterval(() => void this.#writes.add(() => this.#save()), saveMs).unref()
    if (!this.#isKnown) await this.#register()
    const { database, node } = this.#deps
    try {
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

  async #save(): Promise<void> {
    const { database, node, streams, counters, renewTables, log } = this.#deps
    if (streams.size === 0 && this.#ended.size === 0 && !this.#isKnown) return
    try {
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
