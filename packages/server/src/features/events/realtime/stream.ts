import { randomUUID } from 'node:crypto'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { Subscriptions } from './changes/audience.ts'
import { formatPosition, type Position } from './changes/position.ts'
import { type StreamEffect, type StreamEvent, type StreamState, transitions } from './states.ts'

/** Why a stream ends. */
export type Ending = 'slow_client' | 'session_ended' | 'server_shutdown' | 'server_error' | 'disconnected'

/** Way of a stream's frames to its client: server-sent events or a WebSocket. */
export interface Transport {
  readonly name: 'sse' | 'ws'
  /** The frame of an event. @param id what to resume with as `Last-Event-ID`, when that is certain */
  frame(id: string | undefined, body: string): string
  /** Sends frames, as many as were joined. */
  send(frames: readonly string[]): void
  /** Says that events are missing. @param id where it resumes, when that is certain */
  gap(id: string | undefined): void
  /** Shows that the stream is alive. @param id where it stands, when that is certain */
  heartbeat(id: string | undefined): void
  /** Bytes that the client has not taken yet. */
  readonly pendingBytes: number
  /** Resolves when the client has taken what was sent, or the stream has ended. */
  drained(): Promise<void>
  /** Sends the client the reason, and closes. */
  end(ending: Ending): void
}

/** Caller, as far as streams need it. */
export interface Listener {
  readonly scope: CallerScope
  /** Undefined while auth is off, and of a program that acts for no user. */
  readonly userId: string | undefined
  /** The app of such a program: its streams are counted together. */
  readonly appId?: string | undefined
  /** Verified twice a second and before anything is sent: the stream ends when it is no longer valid. */
  readonly token: string | undefined
}

/** The caller of a token. */
export function listenerOf({ scope, userId, appId }: UserIdentity, token: string | undefined): Listener {
  return userId === '' ? { scope, userId: undefined, appId, token } : { scope, userId, token }
}

/** Bytes that may be pending for a slow client before it is disconnected; it resumes from the last event. */
export const pendingLimitBytes = 1024 * 1024

/** Message of a gap, by every transport. */
export const gapMessage = 'events before this one may be missing; read the tables again'

/** A client reads its tables again after a gap: it receives none more often than this. */
const gapIntervalMs = 1000

/** Batches in flight to one stream at most. */
const inFlightLimit = 40

/** Node of a stream, as far as the stream needs it. */
export interface StreamKeeper {
  /** Called once, whatever ends the stream. */
  onEnd(stream: Stream, ending: Ending | 'gone'): void
  /**
   * Returns whether its token is known to be valid. Where that has to be looked up, or cannot be, it is not:
   * {@link Stream.release} or {@link Stream.end} follows.
   */
  mayReceive(stream: Stream): boolean
}

/** A stream on a channel. */
export interface Membership {
  readonly stream: Stream
  readonly channel: string
  /** Time at which the policies last let it subscribe. */
  permittedAt: number
  /** Time at which they last let it broadcast and show presence. */
  maySendAt: number
  /** JSON of the object that it shows; undefined while it shows none. */
  presence: string | undefined
}

/** Additions of a WebSocket to the life of its stream. */
export interface StreamHooks {
  /** Twice a second. */
  onLook(stream: Stream, now: number): void
  onEnd(stream: Stream): void
}

/** An open stream of one client. Its state changes by the table of `states.ts`, here and nowhere else. */
export class Stream {
  readonly id: string
  readonly connectedAt = new Date()
  readonly transport: Transport
  readonly address: string
  readonly hooks: StreamHooks | undefined
  readonly #keeper: StreamKeeper
  #state: StreamState = 'opening'
  #listener: Listener
  #subscriptions: Subscriptions = new Map()
  readonly #channels = new Map<string, Membership>()
  #inFlight = 0
  #lastSentAt = performance.now()
  #ending: Ending | 'gone' | undefined
  #gapAt = Number.NEGATIVE_INFINITY
  /** Sends the gap that has to wait. */
  #laterGap: NodeJS.Timeout | undefined
  /** Deliveries that wait until the token is known to be valid, in order, and their size. */
  #held: (() => void)[] = []
  #heldSize = 0

  constructor(
    transport: Transport,
    listener: Listener,
    address: string,
    keeper: StreamKeeper,
    { id = randomUUID(), hooks }: { readonly id?: string; readonly hooks?: StreamHooks } = {},
  ) {
    this.id = id
    this.transport = transport
    this.#listener = listener
    this.address = address
    this.#keeper = keeper
    this.hooks = hooks
  }

  get listener(): Listener {
    return this.#listener
  }

  get subscriptions(): Subscriptions {
    return this.#subscriptions
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

  /** Undefined while it is open. */
  get ending(): Ending | 'gone' | undefined {
    return this.#ending
  }

  /** True while some tables are being caught up with: a position of the whole stream is unknown. */
  get isCatchingUp(): boolean {
    return this.#state === 'catchingUp' || this.#state === 'catchingUpHeld'
  }

  /** True if a client that resumes from the next event misses neither events of tables that are catching up nor a gap. */
  get isCertain(): boolean {
    return !this.isCatchingUp && this.#laterGap === undefined
  }

  /** True if it has been sent everything up to the position that the log has been read to. */
  get isUpToDate(): boolean {
    return this.#state === 'live' && this.#inFlight === 0 && this.#laterGap === undefined
  }

  /** Notes that the stream is counted. */
  admit(): void {
    this.#apply('admit')
  }

  /** Replaces the caller by the same one with another token. */
  renew(listener: Listener): void {
    this.#listener = listener
  }

  subscribe(subscriptions: Subscriptions): void {
    this.#subscriptions = subscriptions
  }

  /** Begins to catch up with some tables; the stream continues with the others meanwhile. */
  beginCatchUp(others: Subscriptions): void {
    this.#apply('catchUp')
    this.#subscriptions = others
  }

  /** Notes that it has been sent what it missed. */
  endCatchUp(): void {
    this.#apply('catchUpEnd')
  }

  addMembership(membership: Membership): void {
    this.#channels.set(membership.channel, membership)
  }

  deleteMembership(channel: string): void {
    this.#channels.delete(channel)
  }

  /** Counts a batch in flight; with too many the client resumes instead. */
  beginBatch(): void {
    this.#inFlight += 1
    if (this.#inFlight > inFlightLimit) this.end('server_error')
  }

  endBatch(): void {
    this.#inFlight -= 1
  }

  /** Sends frames, or gives up a client that does not read them. */
  send(frames: readonly string[]): void {
    if (frames.length === 0) return
    const size = frames.reduce((sum, frame) => sum + frame.length, 0)
    this.#deliver(size, () => {
      // Before these: they may be large, and a client that reads in time may have them.
      if (this.transport.pendingBytes > pendingLimitBytes) {
        this.end('slow_client')
        return
      }
      this.#lastSentAt = performance.now()
      this.transport.send(frames)
    })
  }

  /** @param position how far the log has been read for all streams */
  heartbeat(position: Position | undefined): void {
    this.#lastSentAt = performance.now()
    const isCertain = this.isUpToDate && position !== undefined
    this.transport.heartbeat(isCertain ? formatPosition(position) : undefined)
  }

  /**
   * Says that something may be missing before the position: at once, or when a second has passed since it was said last.
   *
   * @param position where the stream stands as a whole, when that is certain
   */
  gap(position: Position | undefined): void {
    if (!this.isOpen || this.#laterGap !== undefined) return
    const waitMs = this.#gapAt + gapIntervalMs - performance.now()
    if (waitMs > 0) {
      this.#laterGap = setTimeout(() => {
        this.#laterGap = undefined
        this.gap(undefined)
      }, waitMs).unref()
      return
    }
    this.#gapAt = performance.now()
    const id = position === undefined || this.isCatchingUp ? undefined : formatPosition(position)
    // After what precedes the position: a client may resume from it.
    this.#deliver(0, () => this.transport.gap(id))
  }

  /** Sends what was held while it was unknown whether the token is valid: it is. */
  release(): void {
    if (this.#apply('verified') !== 'flush') return
    const held = this.#held
    this.#held = []
    this.#heldSize = 0
    // One of them may end the stream.
    for (const deliver of held) if (this.isOpen) deliver()
  }

  /** Ends it from our side. */
  end(ending: Ending): void {
    if (this.#apply('end') !== 'close') return
    this.#ending = ending
    this.transport.end(ending)
    this.#close(ending)
  }

  /** Notes that the client has disconnected. */
  leave(): void {
    if (this.#apply('disconnect') !== 'release') return
    this.#ending = 'gone'
    this.#close('gone')
  }

  /** @param size of what is delivered; beyond a limit the client resumes instead */
  #deliver(size: number, deliver: () => void): void {
    const isVerifiable = this.#state === 'live' || this.#state === 'catchingUp'
    // The token may just be found invalid, which ends the stream.
    if (isVerifiable && !this.#keeper.mayReceive(this)) this.#apply('unverified')
    const effect = this.#apply('deliver')
    if (effect === 'send') deliver()
    if (effect !== 'hold') return
    this.#heldSize += size
    if (this.#heldSize > pendingLimitBytes && this.#held.length > 0) this.end('server_error')
    else this.#held.push(deliver)
  }

  /** Changes the state by the event. @returns what is to be done */
  #apply(event: StreamEvent): StreamEffect {
    const { to, effect } = transitions[this.#state][event]
    this.#state = to
    return effect
  }

  #close(ending: Ending | 'gone'): void {
    clearTimeout(this.#laterGap)
    this.#held = []
    this.#keeper.onEnd(this, ending)
  }
}
