import type { Logger } from 'pino'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { Batcher } from '../../../../lib/batcher.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { nodeLifeSeconds } from '../connections.ts'
import type { Membership, Stream } from '../stream.ts'
import { channelTopic } from './channel-messages.ts'
import * as queries from './presence-queries.ts'

/** Maximum number of disconnected clients in one update. */
const disconnectBatchSize = 1000

export interface PresencesDeps {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'announce'>
  readonly node: string
  /** Seconds for which the presence of a disconnected client remains. */
  readonly leaveSeconds: number
  readonly log: Logger
}

/**
 * Presences on channels. The database holds the state. This node remembers its own connections, to restore presences
 * that others removed when it seemed dead, or that a database crash lost.
 */
export class Presences {
  readonly #deps: PresencesDeps
  readonly #disconnects: Batcher<string>
  /** Time since which the database has been available without interruption. */
  #availableSince = Number.NEGATIVE_INFINITY
  #isUnavailable = false
  #isMismatched = false

  constructor(deps: PresencesDeps) {
    this.#deps = deps
    this.#disconnects = new Batcher({ size: disconnectBatchSize }, (ids) =>
      queries.markDisconnected(deps.database, ids),
    )
  }

  /** Shows a presence. @param presence JSON of an object */
  async track(membership: Membership, presence: string): Promise<void> {
    const { database, node } = this.#deps
    const { stream, presence: before } = membership
    membership.presence = presence
    try {
      await queries.insertPresence(database, node, membership)
    } catch (error) {
      membership.presence = before
      throw error
    }
    this.#deps.notifications.announce(channelTopic)
    // The stream was marked before the row existed.
    if (!stream.isOpen) this.markDisconnected(stream)
  }

  async untrack(membership: Membership): Promise<void> {
    if (membership.presence === undefined) return
    membership.presence = undefined
    await queries.deletePresence(this.#deps.database, membership)
    this.#deps.notifications.announce(channelTopic)
  }

  /** Marks the presences of a connection that has ended. */
  markDisconnected({ id }: Stream): void {
    // The number of presences shows a failure later.
    this.#disconnects.add(id).catch(() => undefined)
  }

  /**
   * Removes expired presences and restores missing ones. Call it every second.
   *
   * @param memberships all memberships of this node
   * @returns true if there is anything left to maintain
   */
  async maintain(memberships: readonly Membership[]): Promise<boolean> {
    const { database, node, leaveSeconds, log } = this.#deps
    try {
      const known = memberships.filter(({ presence }) => presence !== undefined)
      const isMismatched = (await queries.countOwnPresences(database, node)) !== known.length
      // Two rounds in a row must differ, because a change may just be in flight.
      if (isMismatched && this.#isMismatched) await queries.restorePresences(database, node, known)
      this.#isMismatched = isMismatched
      // After an outage of the database every node seems dead until it is seen again.
      const spareNodes = performance.now() - this.#availableSince < nodeLifeSeconds * 1000
      const hasRemaining = await queries.deleteExpired(database, leaveSeconds, spareNodes)
      if (this.#isUnavailable) this.#availableSince = performance.now()
      this.#isUnavailable = false
      return hasRemaining || known.length > 0
    } catch (error) {
      this.#isUnavailable = true
      this.#availableSince = Number.POSITIVE_INFINITY
      log.warn({ reason: messageOf(error) }, 'failed to maintain presences; retrying in 1 s')
      return true
    }
  }

  async stop(): Promise<void> {
    await this.#disconnects.settled()
  }
}
