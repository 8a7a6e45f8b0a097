import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import { insufficientScope, requireWriteScope } from '../../../../http/access/grants.ts'
import type { RealtimeConfig } from '../config.ts'
import { realtimeErrors } from '../errors.ts'
import type { Membership, Stream } from '../stream.ts'
import { type ClientMessage, channelOf, eventOf } from '../websocket/client-messages.ts'
import type { ChannelAccess } from './channel-access.ts'
import type { Channels } from './channels.ts'
import type { Presences } from './presences.ts'

const channelLimit = 100
/** Maximum bytes of one connection’s broadcasts that wait for the database. Beyond this its next message waits too. */
const inFlightLimitBytes = 1024 * 1024

export interface Responder {
  reply(): void
  refuse(error: unknown): void
}

export interface ChannelRequestsDeps {
  readonly channels: Channels
  readonly presences: Presences
  readonly access: ChannelAccess
  readonly config: RealtimeConfig
  /** Milliseconds after which the policies are evaluated again for a sender. */
  readonly accessMs: number
}

/** Broadcasts of a connection in the last second and in flight. */
interface Sending {
  /** Start of the second for which broadcasts are counted. */
  countedSince: number
  count: number
  inFlightBytes: number
}

/** Handler of client requests about channels. */
export class ChannelRequests {
  readonly #deps: ChannelRequestsDeps
  readonly #sending = new WeakMap<Stream, Sending>()

  constructor(deps: ChannelRequestsDeps) {
    this.#deps = deps
  }

  /** Handles a request. @throws AppError to be sent to the client */
  async handle(stream: Stream, message: ClientMessage, responder: Responder): Promise<void> {
    const { channels, presences } = this.#deps
    const channel = channelOf(message)
    requireChannels(stream, message)
    switch (message.type) {
      case 'channel_subscribe':
        return await this.#subscribe(stream, channel, responder)
      case 'channel_unsubscribe':
        await channels.unsubscribe(stream, channel)
        break
      case 'broadcast':
        return await this.#broadcast(requireMember(stream, channel), message, responder)
      case 'presence_track':
        await this.#track(requireMember(stream, channel), message)
        break
      case 'presence_untrack':
        await presences.untrack(requireMember(stream, channel))
        break
      case 'presence_sync':
        requireMember(stream, channel)
        return await channels.sync(channel, (frame) => {
          responder.reply()
          stream.send([frame])
        })
    }
    responder.reply()
  }

  async #subscribe(stream: Stream, channel: string, responder: Responder): Promise<void> {
    const { channels, access } = this.#deps
    if (!stream.channels.has(channel) && stream.channels.size >= channelLimit) {
      throw realtimeErrors.tooManyChannels(channelLimit)
    }
    const permitted = await access.permitted(stream.listener.scope, [channel], 'subscribe')
    if (!permitted.has(channel)) throw realtimeErrors.channelAccessDenied()
    await channels.subscribe(stream, channel, (sync) => {
      responder.reply()
      stream.send([sync])
    })
  }

  async #track(membership: Membership, message: ClientMessage): Promise<void> {
    const { presences } = this.#deps
    const { stream, channel } = membership
    const presence = presenceOf(message)
    await this.#requireSender(membership)
    await presences.track(membership, presence)
    // The presence of a disconnected client remains for a while.
    if (!stream.isOpen || stream.channels.get(channel) === membership) return
    // The stream was removed from the channel meanwhile, together with its presence at that time.
    await presences.untrack(membership)
    throw realtimeErrors.notSubscribed()
  }

  /** Broadcasts a message. The reply follows when it is written, and the next message need not wait for that. */
  async #broadcast(membership: Membership, message: ClientMessage, responder: Responder): Promise<void> {
    const { stream, channel } = membership
    const event = eventOf(message)
    const sending = this.#countBroadcast(stream)
    await this.#requireSender(membership)
    const { payload = 'null' } = message
    const isEchoed = message.members.self === true
    sending.inFlightBytes += payload.length
    const written = this.#deps.channels
      .broadcast({ channel, event, payload, connectionId: stream.id }, isEchoed)
      .then(responder.reply, responder.refuse)
      .finally(() => {
        sending.inFlightBytes -= payload.length
      })
    if (sending.inFlightBytes > inFlightLimitBytes) await written
  }

  #countBroadcast(stream: Stream): Sending {
    const now = performance.now()
    const sending = this.#sending.get(stream) ?? { countedSince: now, count: 0, inFlightBytes: 0 }
    this.#sending.set(stream, sending)
    if (now - sending.countedSince >= 1000) {
      sending.countedSince = now
      sending.count = 0
    }
    sending.count += 1
    if (sending.count > this.#deps.config.broadcast_rate_limit_per_second)
      throw realtimeErrors.broadcastRateExceeded()
    return sending
  }

  async #requireSender(membership: Membership): Promise<void> {
    const now = performance.now()
    if (now - membership.maySendAt < this.#deps.accessMs) return
    const { stream, channel } = membership
    const permitted = await this.#deps.access.permitted(stream.listener.scope, [channel], 'send')
    if (!permitted.has(channel)) throw realtimeErrors.channelAccessDenied()
    if (requireMember(stream, channel) !== membership) throw realtimeErrors.notSubscribed()
    membership.maySendAt = now
  }
}

function requireMember(stream: Stream, channel: string): Membership {
  const membership = stream.channels.get(channel)
  if (membership === undefined) throw realtimeErrors.notSubscribed()
  return membership
}

/**
 * Checks that a caller may use channels. A program with access to some tables may not. @throws AppError
 * insufficient_scope
 */
export function requireChannelGrant(scope: CallerScope): void {
  if (scope.kind === 'caller' && scope.grant?.tables !== undefined)
    throw insufficientScope(scope, 'scope does not permit access to channels')
}

/** Checks that the scope permits the request. A read-only program may not send. */
function requireChannels({ listener: { scope } }: Stream, { type }: ClientMessage): void {
  requireChannelGrant(scope)
  if (type === 'broadcast' || type === 'presence_track') requireWriteScope(scope)
}

function presenceOf({ payload = '{}' }: ClientMessage): string {
  if (!payload.startsWith('{')) throw realtimeErrors.invalidPresence()
  return payload
}
