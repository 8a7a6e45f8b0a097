import type { Logger } from 'pino'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { Batcher } from '../../../../lib/batcher.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { nodeLifeSeconds } from '../connections.ts'
import type { Membership, Stream } from '../stream.ts'
import { channelTopic } from './channel-messages.ts'
import * as queries from './presence-queries.ts'

/** Connections that go together are marked together. */
const leavesAtOnce = 1000

export interface PresencesDeps {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'announce'>
  readonly node: string
  /** Seconds for which a connection that has ended is still shown. */
  readonly leaveSeconds: number
  readonly log: Logger
}

/**
 * Who shows presence on which channel. The database has the state; this node remembers its own connections, to put
 * back what others took it for dead over, or what a crash of the database took.
 */
export class Presences {
  readonly #deps: PresencesDeps
  readonly #leaves: Batcher<string>
  /** Since when, without a break, the database has been there. */
  #steadySince = Number.NEGATIVE_INFINITY
  #isBroken = false
  #isOff = false

  constructor(deps: PresencesDeps) {
    this.#deps = deps
    this.#leaves = new Batcher({ size: leavesAtOnce }, (ids) => queries.markLeft(deps.database, ids))
  }

  /** @param presence JSON of an object */
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
    // Marked before the row was there.
    if (!stream.isOpen) this.leave(stream)
  }

  async untrack(membership: Membership): Promise<void> {
    if (membership.presence === undefined) return
    membership.presence = undefined
    await queries.deletePresence(this.#deps.database, membership)
    this.#deps.notifications.announce(channelTopic)
  }

  /** The connection, which showed presence, has ended. */
  leave({ id }: Stream): void {
    // What fails is noticed by its number.
    this.#leaves.add(id).catch(() => undefined)
  }

  /**
   * Removes whose time is up, puts back what is missing; to be called every second.
   *
   * @param memberships all of this node
   * @returns whether there is anything left to look after
   */
  async maintain(memberships: readonly Membership[]): Promise<boolean> {
    const { database, node, leaveSeconds, log } = this.#deps
    try {
      const known = memberships.filter(({ presence }) => presence !== undefined)
      const isOff = (await queries.countOwnPresences(database, node)) !== known.length
      // Twice in a row: something may just be on its way.
      if (isOff && this.#isOff) await queries.restorePresences(database, node, known)
      this.#isOff = isOff
      // After the database was unavailable every node seems dead, until it is seen again.
      const spareNodes = performance.now() - this.#steadySince < nodeLifeSeconds * 1000
      const isLeft = await queries.deleteLeft(database, leaveSeconds, spareNodes)
      if (this.#isBroken) this.#steadySince = performance.now()
      this.#isBroken = false
      return isLeft || known.length > 0
    } catch (error) {
      this.#isBroken = true
      this.#steadySince = Number.POSITIVE_INFINITY
      log.warn({ reason: messageOf(error) }, 'failed to maintain presences; retrying in 1 s')
      return true
    }
  }

  async stop(): Promise<void> {
    await this.#leaves.settled()
  }
}
