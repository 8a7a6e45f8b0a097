import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Notifications } from '../../../../database/notifications/notifications.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { identityKey } from '../changes/audience.ts'
import { Follower } from '../changes/follower.ts'
import type { Membership, Stream } from '../stream.ts'
import { Batcher } from './batcher.ts'
import type { ChannelAccess } from './channel-access.ts'
import { broadcastFrame, messageFrame, syncFrame } from './channel-frames.ts'
import { ChannelMembers } from './channel-members.ts'
import * as messages from './channel-messages.ts'
import { listPresences } from './presence-queries.ts'
import type { Presences } from './presences.ts'

/** Messages read, and broadcasts written, at once. */
const readAtOnce = 500
const writeAtOnce = 100
/** Requests for presences that are answered at once. */
const syncAtOnce = 1000
/** How often presences are looked after. */
const lookMs = 1000
const pruneMs = 10_000
/** A node that has not read for so long may have missed messages that were pruned. */
const missedMs = (messages.messageLifeSeconds - 15) * 1000

export interface ChannelsDeps {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce' | 'interruptions'>
  readonly node: string
  readonly presences: Presences
  readonly access: ChannelAccess
  /** Milliseconds after which the policies are evaluated again for a member. */
  readonly accessMs: number
  /** What a stream is on has changed. */
  readonly noteChange: (stream: Stream) => void
  readonly log: Logger
}

interface SyncRequest {
  readonly channel: string
  readonly take: (frame: string) => void
}

/**
 * The members of channels on this node. A broadcast of this node is sent to its members at once and written for the other
 * nodes; everything else is read from the messages of all nodes.
 */
export class Channels {
  readonly #deps: ChannelsDeps
  readonly #members = new ChannelMembers()
  readonly #follower: Follower<messages.ChannelMessage>
  readonly #broadcasts: Batcher<messages.Broadcast>
  /** Those that come together are answered by one statement. */
  readonly #syncs: Batcher<SyncRequest>
  readonly #stopping = new AbortController()
  #looking: Promise<void> | undefined
  #prunedAt = Number.NEGATIVE_INFINITY
  #readAt = Number.NEGATIVE_INFINITY
  /** The presences that members know may not be those of the database. */
  #mayBeWrong = false
  /** Of the notifications, when the messages were read last. */
  #interruptions = 0

  constructor(deps: ChannelsDeps) {
    const { database, notifications, node, log } = deps
    this.#deps = deps
    this.#broadcasts = new Batcher(writeAtOnce, async (batch) => {
      await messages.insertBroadcasts(database, node, batch)
      notifications.announce(messages.channelTopic)
    })
    this.#syncs = new Batcher(syncAtOnce, (batch) => this.#follower.between(() => this.#answer(batch)))
    this.#follower = new Follower({
      database,
      notifications,
      topic: messages.channelTopic,
      table: sql`basalt.realtime_messages`,
      what: 'what is said on channels',
      read: async (from) => (this.#members.isEmpty ? undefined : await this.#read(from)),
      deliver: ({ events }) => this.#deliver(events),
      onBreak: () => {
        this.#mayBeWrong = true
      },
      log,
    })
  }

  /**
   * Puts the stream on the channel, where it may be already.
   *
   * @param begin is handed who is there: what happens from then on follows
   */
  async join(stream: Stream, channel: string, begin: (sync: string) => void): Promise<void> {
    await this.sync(channel, (frame) => {
      if (!stream.isOpen) return
      this.#add(stream, channel)
      begin(frame)
    })
    this.#looking ??= this.#look()
  }

  /** Hands over the presences, between what has been sent and what will be. */
  sync(channel: string, take: (frame: string) => void): Promise<void> {
    return this.#syncs.add({ channel, take })
  }

  /** Takes the stream off the channel, its presence with it. */
  async part(stream: Stream, channel: string): Promise<void> {
    const membership = stream.channels.get(channel)
    if (membership === undefined) return
    this.#remove(membership)
    await this.#deps.presences.untrack(membership)
  }

  /** The stream has a new token: its permissions are evaluated anew. */
  invalidate(stream: Stream): void {
    for (const membership of stream.channels.values()) {
      membership.permittedAt = Number.NEGATIVE_INFINITY
      membership.maySendAt = Number.NEGATIVE_INFINITY
    }
  }

  /** The stream has ended. */
  leave(stream: Stream): void {
    const memberships = [...stream.channels.values()]
    for (const membership of memberships) this.#remove(membership)
    if (memberships.some(({ presence }) => presence !== undefined)) this.#deps.presences.leave(stream)
  }

  /** Sends it to members on this node, and resolves when it is written for the others. */
  broadcast(broadcast: messages.Broadcast, toSelf: boolean): Promise<void> {
    const { channel, event, payload, connectionId } = broadcast
    this.#members.send(channel, broadcastFrame(channel, event, payload), toSelf ? undefined : connectionId)
    return this.#broadcasts.add(broadcast)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#looking
    await this.#follower.stop()
    await this.#broadcasts.settled()
    await this.#deps.presences.stop()
  }

  #add(stream: Stream, channel: string): void {
    if (this.#members.isEmpty) {
      this.#readAt = performance.now()
      this.#interruptions = this.#deps.notifications.interruptions
    }
    if (this.#members.add(stream, channel)) this.#deps.noteChange(stream)
  }

  #remove(membership: Membership): void {
    this.#members.remove(membership)
    this.#deps.noteChange(membership.stream)
  }

  async #read(from: Parameters<typeof messages.readMessages>[1]) {
    const { database, node, notifications } = this.#deps
    if (this.#interruptions !== notifications.interruptions) this.#mayBeWrong = true
    this.#interruptions = notifications.interruptions
    try {
      const batch = await messages.readMessages(database, from, node, this.#members.channels, readAtOnce)
      const now = performance.now()
      if (now - this.#readAt > missedMs) {
        this.#mayBeWrong = true
        const message = 'messages of channels may be missing'
        this.#members.sendAll(JSON.stringify({ type: 'system', message }))
      }
      this.#readAt = now
      return batch
    } catch (error) {
      // If it has crashed, it has forgotten messages, and presences until their nodes put them back.
      this.#mayBeWrong = true
      throw error
    }
  }

  async #deliver(events: readonly messages.ChannelMessage[]): Promise<void> {
    for (const event of events) this.#members.send(event.channel, messageFrame(event))
    if (!this.#mayBeWrong) return
    // What has been sent must not be sent again because this fails.
    this.#mayBeWrong = await this.#syncAll().then(
      () => false,
      () => true,
    )
  }

  async #syncAll(): Promise<void> {
    const take = (channel: string) => (frame: string) => this.#members.send(channel, frame)
    await this.#answer(this.#members.channels.map((channel) => ({ channel, take: take(channel) })))
  }

  async #answer(requests: readonly SyncRequest[]): Promise<void> {
    const channels = new Set(requests.map(({ channel }) => channel))
    const presences = await listPresences(this.#deps.database, [...channels])
    for (const { channel, take } of requests) take(syncFrame(channel, presences.get(channel) ?? []))
  }

  /** Looks after presences and memberships every second, until there is nothing left. */
  async #look(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await delay(lookMs, undefined, { ref: false, signal }).catch(() => undefined)
      if (signal.aborted) return
      const isNeeded = await this.#lookOnce()
      if (isNeeded || !this.#members.isEmpty) continue
      this.#looking = undefined
      return
    }
  }

  /** @returns whether anything is left to look after */
  async #lookOnce(): Promise<boolean> {
    const { database, presences, log } = this.#deps
    const isNeeded = await presences.maintain(this.#members.all)
    try {
      await this.#evaluateAgain()
      if (performance.now() - this.#prunedAt > pruneMs) {
        const isDone = await messages.pruneMessages(database)
        // Else it continues with the next look.
        if (isDone) this.#prunedAt = performance.now()
      }
      return isNeeded
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'failed to maintain channels; retrying in 1 s')
      return true
    }
  }

  /** Takes members off channels that they may no longer read. */
  async #evaluateAgain(): Promise<void> {
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
        else if (stream.channels.get(channel) === membership) await this.#expel(stream, channel)
      }
    }
  }

  async #expel(stream: Stream, channel: string): Promise<void> {
    const message = `no longer subscribed to channel ${channel}: channel access denied`
    stream.send([JSON.stringify({ type: 'system', message, channel })])
    await this.part(stream, channel)
  }
}
