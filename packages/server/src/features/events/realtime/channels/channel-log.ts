import type { Notifications } from '../../../../database/notifications/notifications.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { type Batch, readEnd } from '../changes/batch.ts'
import type { FollowedLog } from '../changes/follower.ts'
import type { Position } from '../changes/position.ts'
import { messageFrame, syncFrame } from './channel-frames.ts'
import type { ChannelMembers } from './channel-members.ts'
import { type ChannelMessage, channelTopic, messageLifeSeconds, readMessages } from './channel-messages.ts'
import { listPresences } from './presence-queries.ts'

/** Maximum number of messages that one read returns. */
const batchSize = 500
/** Milliseconds without a read after which a node may have missed pruned messages. */
const missedMs = (messageLifeSeconds - 15) * 1000

export interface ChannelLogDeps {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'interruptions'>
  readonly node: string
  readonly members: ChannelMembers
}

/** Request for the presences of a channel. */
export interface SyncRequest {
  readonly channel: string
  readonly respond: (frame: string) => void
}

/** Messages on channels of all nodes, read for the members on this node and sent to them. */
export class ChannelLog implements FollowedLog<ChannelMessage> {
  readonly topic = channelTopic
  readonly table = sql`basalt.realtime_messages`
  readonly name = 'the messages of channels'
  readonly holdsState = false
  readonly #deps: ChannelLogDeps
  #readAt = Number.NEGATIVE_INFINITY
  /** True if the presences that members know may differ from the database. */
  #mayBeStale = false
  /** Number of interruptions of the notifications at the last read of the messages. */
  #interruptions = 0

  constructor(deps: ChannelLogDeps) {
    this.#deps = deps
  }

  /** Restarts the log for the first member. Messages from before are not missed. */
  restart(): void {
    this.#readAt = performance.now()
    this.#interruptions = this.#deps.notifications.interruptions
  }

  begin(): Promise<Position> {
    return readEnd(this.#deps.database)
  }

  async read(from: Position): Promise<Batch<ChannelMessage> | undefined> {
    const { database, node, members, notifications } = this.#deps
    if (members.isEmpty) return undefined
    if (this.#interruptions !== notifications.interruptions) this.#mayBeStale = true
    this.#interruptions = notifications.interruptions
    try {
      const batch = await readMessages(database, from, node, members.channels, batchSize)
      const now = performance.now()
      if (now - this.#readAt > missedMs) {
        this.#mayBeStale = true
        members.sendAll(JSON.stringify({ type: 'system', message: 'messages of channels may be missing' }))
      }
      this.#readAt = now
      return batch
    } catch (error) {
      // If PostgreSQL has crashed, it has lost messages, and presences until their nodes insert them again.
      this.#mayBeStale = true
      throw error
    }
  }

  async deliver({ events }: Batch<ChannelMessage>): Promise<void> {
    const { members } = this.#deps
    for (const event of events) members.send(event.channel, messageFrame(event))
    if (!this.#mayBeStale) return
    const respond = (channel: string) => (frame: string) => members.send(channel, frame)
    // Messages that were sent must not be sent again because this fails.
    this.#mayBeStale = await this.sync(
      members.channels.map((channel) => ({ channel, respond: respond(channel) })),
    ).then(
      () => false,
      () => true,
    )
  }

  onBreak(): void {
    this.#mayBeStale = true
  }

  /** Sends the requested presences, between two steps of the follower. */
  async sync(requests: readonly SyncRequest[]): Promise<void> {
    const channels = new Set(requests.map(({ channel }) => channel))
    const presences = await listPresences(this.#deps.database, [...channels])
    for (const { channel, respond } of requests) respond(syncFrame(channel, presences.get(channel) ?? []))
  }
}
