import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { Batcher } from '../../../../lib/batcher.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { identityKey } from '../changes/audience.ts'
import { Follower } from '../changes/follower.ts'
import type { Membership, Stream } from '../stream.ts'
import type { ChannelAccess } from './channel-access.ts'
import { broadcastFrame } from './channel-frames.ts'
import { ChannelLog, type SyncRequest } from './channel-log.ts'
import { ChannelMembers } from './channel-members.ts'
import * as messages from './channel-messages.ts'
import type { Presences } from './presences.ts'

/** Maximum number of broadcasts in one insert. */
const writeBatchSize = 100
/** Maximum number of sync requests in one query. */
const syncBatchSize = 1000
/** Milliseconds between two rounds of maintenance. */
const maintainMs = 1000
const pruneMs = 10_000

export interface ChannelsDeps {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce' | 'interruptions'>
  readonly node: string
  readonly presences: Presences
  readonly access: ChannelAccess
  /** Milliseconds after which the policies are evaluated again for a member. */
  readonly accessMs: number
  /** Runs after the channels of a stream have changed. */
  readonly noteChange: (stream: Stream) => void
  readonly log: Logger
}

/**
 * Members of channels on this node. A broadcast of this node goes to its own members at once and is written for the
 * other nodes. Everything else is read from the messages of all nodes.
 */
export class Channels {
  readonly #deps: ChannelsDeps
  readonly #members = new ChannelMembers()
  readonly #messages: ChannelLog
  readonly #follower: Follower<messages.ChannelMessage>
  readonly #broadcasts: Batcher<messages.Broadcast>
  /** Sync requests. One statement serves those that arrive together. */
  readonly #syncs: Batcher<SyncRequest>
  readonly #stopping = new AbortController()
  #maintaining: Promise<void> | undefined
  #prunedAt = Number.NEGATIVE_INFINITY

  constructor(deps: ChannelsDeps) {
    const { database, notifications, node, log } = deps
    this.#deps = deps
    this.#messages = new ChannelLog({ database, notifications, node, members: this.#members })
    this.#broadcasts = new Batcher({ size: writeBatchSize }, async (batch) => {
      await messages.insertBroadcasts(database, node, batch)
      notifications.announce(messages.channelTopic)
    })
    this.#syncs = new Batcher({ size: syncBatchSize }, (batch) =>
      this.#follower.between(() => this.#messages.sync(batch)),
    )
    this.#follower = new Follower({ notifications, log }, this.#messages)
  }

  /**
   * Subscribes the stream to the channel, which it may already be.
   *
   * @param begin receives the presences; later messages follow them
   */
  async subscribe(stream: Stream, channel: string, begin: (sync: string) => void): Promise<void> {
    await this.sync(channel, (frame) => {
      if (!stream.isOpen) return
      this.#add(stream, channel)
      begin(frame)
    })
    this.#maintaining ??= this.#maintain()
  }

  /** Sends the presences, after all earlier messages and before all later ones. */
  sync(channel: string, respond: (frame: string) => void): Promise<void> {
    return this.#syncs.add({ channel, respond })
  }

  /** Removes the stream from the channel, together with its presence. */
  async unsubscribe(stream: Stream, channel: string): Promise<void> {
    const membership = stream.channels.get(channel)
    if (membership === undefined) return
    this.#remove(membership)
    await this.#deps.presences.untrack(membership)
  }

  /** Invalidates the permissions of a stream that has a new token. */
  invalidate(stream: Stream): void {
    for (const membership of stream.channels.values()) {
      membership.permittedAt = Number.NEGATIVE_INFINITY
      membership.maySendAt = Number.NEGATIVE_INFINITY
    }
  }

  /** Removes a stream that has ended from all its channels. */
  removeStream(stream: Stream): void {
    const memberships = [...stream.channels.values()]
    for (const membership of memberships) this.#remove(membership)
    if (memberships.some(({ presence }) => presence !== undefined))
      this.#deps.presences.markDisconnected(stream)
  }

  /** Sends a broadcast to members on this node. Resolves when it is written for the others. */
  broadcast(broadcast: messages.Broadcast, toSelf: boolean): Promise<void> {
    const { channel, event, payload, connectionId } = broadcast
    this.#members.send(channel, broadcastFrame(channel, event, payload), toSelf ? undefined : connectionId)
    return this.#broadcasts.add(broadcast)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#maintaining
    await this.#follower.stop()
    await this.#broadcasts.settled()
    await this.#deps.presences.stop()
  }

  #add(stream: Stream, channel: string): void {
    if (this.#members.isEmpty) this.#messages.restart()
    if (this.#members.add(stream, channel)) this.#deps.noteChange(stream)
  }

  #remove(membership: Membership): void {
    this.#members.remove(membership)
    this.#deps.noteChange(membership.stream)
  }

  /** Maintains presences and memberships every second until none is left. */
  async #maintain(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await delay(maintainMs, undefined, { ref: false, signal }).catch(() => undefined)
      if (signal.aborted) return
      const isNeeded = await this.#maintainOnce()
      if (isNeeded || !this.#members.isEmpty) continue
      this.#maintaining = undefined
      return
    }
  }

  /** Runs one round. @returns true if there is anything left to maintain */
  async #maintainOnce(): Promise<boolean> {
    const { database, presences, log } = this.#deps
    const isNeeded = await presences.maintain(this.#members.all)
    try {
      await this.#reevaluate()
      if (performance.now() - this.#prunedAt > pruneMs) {
        const isDone = await messages.pruneMessages(database)
        // Otherwise pruning continues in the next round.
        if (isDone) this.#prunedAt = performance.now()
      }
      return isNeeded
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'failed to maintain channels; retrying in 1 s')
      return true
    }
  }

  /** Removes members from channels that they may no longer read. */
  async #reevaluate(): Promise<void> {
    const dueBefore = performance.now() - this.#deps.accessMs
    const due = this.#members.all.filter(({ permittedAt }) => permittedAt <= dueBefore)
    for (const group of Map.groupBy(due, ({ stream }) => identityKey(stream.listener.scope)).values()) {
      const [first] = group
      if (first === undefined) continue
      const names = [...new Set(group.map(({ channel }) => channel))]
      const { scope } = first.stream.listener
      const permitted = await this.#deps.access.permitted(scope, names, 'subscribe')
      for (const membership of group) {
        const { stream, channel } = membership
        if (permitted.has(channel)) membership.permittedAt = performance.now()
        else if (stream.channels.get(channel) === membership) await this.#revoke(stream, channel)
      }
    }
  }

  async #revoke(stream: Stream, channel: string): Promise<void> {
    const message = `no longer subscribed to channel ${channel}: channel access denied`
    stream.send([JSON.stringify({ type: 'system', message, channel })])
    await this.unsubscribe(stream, channel)
  }
}
