import { randomUUID } from 'node:crypto'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { Identity } from '../../../http/access/identity.ts'
import type { Subscriptions } from './changes/audience.ts'
import { formatPosition, type Position } from './changes/position.ts'
import type { Message } from './changes/select-events.ts'
import { type StreamEffect, type StreamEvent, type StreamState, transitions } from './states.ts'

/** Reason why the server ends a stream. */
export type Ending = 'slow_client' | 'session_ended' | 'server_shutdown' | 'server_error' | 'disconnected'

/** Transport of a stream’s frames to its client: server-sent events or a WebSocket. */
export interface Transport {
  readonly name: 'sse' | 'ws'
  /** True if other transports of the name have other frames of an event. */
  readonly hasOwnFrames?: true
  /** Renders the frame of an event. @param id value for `Last-Event-ID`, if it is certain */
  frame(id: string | undefined, message: Message): string
  /** Sends any number of frames. */
  send(frames: readonly string[]): void
  /** Sends the notice that events are missing. @param id position at which it resumes, if it is certain */
  gap(id: string | undefined): void
  /** Sends a sign of life. @param id position of the stream, if it is certain */
  heartbeat(id: string | undefined): void
  /** Bytes that the client has not read yet. */
  readonly pendingBytes: number
  /** Resolves when the client has read everything that was sent, or the stream has ended. */
  drained(): Promise<void>
  /** Sends the reason to the client and closes. */
  end(ending: Ending): void
}

/** Caller of a stream. */
export interface Listener {
  readonly scope: CallerScope
  /** Id of the user; undefined while auth is off, and for a program that acts for no user. */
  readonly userId: string | undefined
  /** App of such a program. All streams of an app count together. */
  readonly appId?: string | undefined
  /** Token that is verified twice a second and before anything is sent. The stream ends when it is no longer valid. */
  readonly token: string | undefined
}

/** Returns the listener of an identity. @param token undefined for identities without one */
export function listenerOf(identity: Identity, token: string | undefined): Listener {
  const { kind, scope, appId } = identity
  if (kind === 'admin') return { scope, userId: undefined, token }
  if (kind !== 'user') return { scope, userId: undefined, token: undefined }
  const { userId } = identity
  return userId === '' ? { scope, userId: undefined, appId, token } : { scope, userId, token }
}

/** Maximum pending bytes of a slow client before it is disconnected. It resumes from the last event. */
export const pendingLimitBytes = 1024 * 1024

/** Message of a gap, the same for every transport. */
export const gapMessage = 'events before this one may be missing; read the tables again'

/** Minimum milliseconds between two gaps, because a client reads its tables again after each. */
const gapIntervalMs = 1000

/** Maximum number of batches in flight to one stream. */
const inFlightLimit = 40

/** Owner of a stream: the node, as far as the stream needs it. */
export interface StreamOwner {
  /** Runs once, whatever ends the stream. */
  onEnd(stream: Stream, ending: Ending | 'client_closed'): void
  /**
   * Returns true if the token of the stream is known to be valid. If that needs a lookup or is unknown, it returns
   * false, and {@link Stream.release} or {@link Stream.end} follows.
   */
  mayReceive(stream: Stream): boolean
}

/** Membership of a stream on a channel. */
export interface Membership {
  readonly stream: Stream
  readonly channel: string
  /** Time at which the policies last permitted the subscription. */
  permittedAt: number
  /** Time at which they last permitted broadcasts and presence. */
  maySendAt: number
  /** JSON of the presence; undefined without one. */
  presence: string | undefined
}

/** Hooks of a WebSocket into its stream. */
export interface StreamHooks {
  /** Runs twice a second. */
  onTick?(stream: Stream, now: number): void
  onEnd?(stream: Stream): void
  /** Returns the tables of streams that are attached to it, for the list of open streams. */
  tables?(): readonly string[]
}

/** Open stream of one client. Its state changes by the table in `states.ts`, only here. */
export class Stream {
  readonly id: string
  readonly connectedAt = new Date()
  readonly transport: Transport
  readonly address: string
  readonly hooks: StreamHooks | undefined
  readonly #owner: StreamOwner
  #state: StreamState = 'opening'
  #listener: Listener
  #subscriptions: Subscriptions = new Map()
  readonly #channels = new Map<string, Membership>()
  #inFlight = 0
  #lastSentAt = performance.now()
  #ending: Ending | 'client_closed' | undefined
  #gapAt = Number.NEGATIVE_INFINITY
  /** Timer of a gap that has to wait. */
  #pendingGap: NodeJS.Timeout | undefined
  /** Deliveries that wait in order until the token is known to be valid, and their size. */
  #held: (() => void)[] = []
  #heldSize = 0

  constructor(
    transport: Transport,
    listener: Listener,
    address: string,
    owner: StreamOwner,
    { id = randomUUID(), hooks }: { readonly id?: string; readonly hooks?: StreamHooks } = {},
  ) {
    this.id = id
    this.transport = transport
    this.#listener = listener
    this.address = address
    this.#owner = owner
    this.hooks = hooks
  }

  get listener(): Listener {
    return this.#listener
  }

  get subscriptions(): Subscriptions {
    return this.#subscriptions
  }

  /** Tables that it is listed with. */
  get tables(): readonly string[] {
    return this.hooks?.tables?.() ?? [...this.#subscriptions.keys()]
  }

  /** Memberships by the name of the channel. */
  get channels(): ReadonlyMap<string, Membership> {
    return this.#channels
  }

  get lastSentAt(): number {
    return this.#lastSentAt
  }

  get isOpen(): boolean {
    return this.#state !== 'ended'
  }

  /** Reason of the end; undefined while the stream is open. */
  get ending(): Ending | 'client_closed' | undefined {
    return this.#ending
  }

  /** True while the stream catches up with some tables. The stream as a whole has no known position then. */
  get isCatchingUp(): boolean {
    return this.#state === 'catchingUp' || this.#state === 'catchingUpHeld'
  }

  /**
   * True if a client that resumes from the next event misses neither a gap nor events of tables still catching up.
   */
  get isCertain(): boolean {
    return !this.isCatchingUp && this.#pendingGap === undefined
  }

  /** True if the stream has received everything up to the position of the follower. */
  get isUpToDate(): boolean {
    return this.#state === 'live' && this.#inFlight === 0 && this.#pendingGap === undefined
  }

  /** Registers that the stream is counted. */
  admit(): void {
    this.#apply('admit')
  }

  /** Replaces the listener by the same caller with another token. */
  renew(listener: Listener): void {
    this.#listener = listener
  }

  subscribe(subscriptions: Subscriptions): void {
    this.#subscriptions = subscriptions
  }

  /** Starts to catch up with some tables. Events of the others continue meanwhile. */
  beginCatchUp(others: Subscriptions): void {
    this.#apply('catchUp')
    this.#subscriptions = others
  }

  /** Registers that the missed events were sent. */
  endCatchUp(): void {
    this.#apply('catchUpEnd')
  }

  addMembership(membership: Membership): void {
    this.#channels.set(membership.channel, membership)
  }

  deleteMembership(channel: string): void {
    this.#channels.delete(channel)
  }

  /** Counts a batch in flight. With too many the stream ends, and its client resumes. */
  beginBatch(): void {
    this.#inFlight += 1
    if (this.#inFlight > inFlightLimit) this.end('server_error')
  }

  endBatch(): void {
    this.#inFlight -= 1
  }

  /** Sends frames. Ends the stream of a client that does not read them. */
  send(frames: readonly string[]): void {
    if (frames.length === 0) return
    const size = frames.reduce((sum, frame) => sum + frame.length, 0)
    this.#deliver(size, () => {
      // The limit is checked before these frames, which may be large. A client that reads in time may have them.
      if (this.transport.pendingBytes > pendingLimitBytes) {
        this.end('slow_client')
        return
      }
      this.#lastSentAt = performance.now()
      this.transport.send(frames)
    })
  }

  /** Sends a heartbeat. @param position position up to which the log has been read for all streams */
  heartbeat(position: Position | undefined): void {
    this.#lastSentAt = performance.now()
    const isCertain = this.isUpToDate && position !== undefined
    this.transport.heartbeat(isCertain ? formatPosition(position) : undefined)
  }

  /**
   * Sends the notice that events before the position may be missing: at once, or a second after the last notice.
   *
   * @param position position of the stream as a whole, if it is certain
   */
  gap(position: Position | undefined): void {
    if (!this.isOpen || this.#pendingGap !== undefined) return
    const waitMs = this.#gapAt + gapIntervalMs - performance.now()
    if (waitMs > 0) {
      this.#pendingGap = setTimeout(() => {
        this.#pendingGap = undefined
        this.gap(undefined)
      }, waitMs).unref()
      return
    }
    this.#gapAt = performance.now()
    const id = position === undefined || this.isCatchingUp ? undefined : formatPosition(position)
    // The gap follows the events before the position, because a client may resume from it.
    this.#deliver(0, () => this.transport.gap(id))
  }

  /** Sends the held frames, because the token is valid. */
  release(): void {
    if (this.#apply('verified') !== 'flush') return
    const held = this.#held
    this.#held = []
    this.#heldSize = 0
    // A held delivery may end the stream.
    for (const deliver of held) if (this.isOpen) deliver()
  }

  /** Ends the stream from the server side. */
  end(ending: Ending): void {
    if (this.#apply('end') !== 'close') return
    this.#ending = ending
    this.transport.end(ending)
    this.#close(ending)
  }

  /** Registers that the client has disconnected. */
  disconnect(): void {
    if (this.#apply('disconnect') !== 'release') return
    this.#ending = 'client_closed'
    this.#close('client_closed')
  }

  /** Delivers frames, or holds them. @param size size of the frames; beyond a limit the client resumes instead */
  #deliver(size: number, deliver: () => void): void {
    const isVerifiable = this.#state === 'live' || this.#state === 'catchingUp'
    // The token may just have become invalid, which ends the stream.
    if (isVerifiable && !this.#owner.mayReceive(this)) this.#apply('unverified')
    const effect = this.#apply('deliver')
    if (effect === 'send') deliver()
    if (effect !== 'hold') return
    this.#heldSize += size
    if (this.#heldSize > pendingLimitBytes && this.#held.length > 0) this.end('server_error')
    else this.#held.push(deliver)
  }

  /** Changes the state by the event. @returns the effect to perform */
  #apply(event: StreamEvent): StreamEffect {
    const { to, effect } = transitions[this.#state][event]
    this.#state = to
    return effect
  }

  #close(ending: Ending | 'client_closed'): void {
    clearTimeout(this.#pendingGap)
    this.#held = []
    this.#owner.onEnd(this, ending)
  }
}
