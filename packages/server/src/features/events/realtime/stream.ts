import { randomUUID } from 'node:crypto'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { Subscriptions } from './changes/audience.ts'
import { formatPosition, type Position } from './changes/position.ts'

/** Why a stream ends. */
export type Ending = 'slow_client' | 'session_ended' | 'server_shutdown' | 'server_error' | 'disconnected'

/** How a stream's frames reach its client: server-sent events or a WebSocket. */
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

/** The caller, as far as streams need to know. */
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

/** What may be pending for a slow client before it is disconnected; it resumes where it was. */
export const pendingLimitBytes = 1024 * 1024

/** What every transport says of a gap. */
export const gapMessage = 'events before this one may be missing; read the tables again'

/** A client reads its tables again after a gap: it receives none more often than this. */
const gapIntervalMs = 1000

/** What a stream needs to know of its node. */
export interface StreamKeeper {
  /** Called once, whatever ends the stream. */
  onEnd(stream: Stream, ending: Ending | 'gone'): void
  /**
   * Whether its token is known to be valid. Where that has to be looked up, or cannot be, it is not:
   * {@link Stream.release} or {@link Stream.end} follows.
   */
  mayReceive(stream: Stream): boolean
}

/** A stream on a channel. */
export interface Membership {
  readonly stream: Stream
  readonly channel: string
  /** When the policies last let it subscribe. */
  permittedAt: number
  /** The same for broadcasting and showing presence. */
  maySendAt: number
  /** JSON of the object that it shows; undefined while it shows none. */
  presence: string | undefined
}

/** What a WebSocket adds to the life of its stream. */
export interface StreamHooks {
  /** Twice a second. */
  onLook(now: number): void
  onEnd(): void
}

/** An open stream of one client. */
export class Stream {
  readonly id: string
  readonly connectedAt = new Date()
  readonly transport: Transport
  readonly address: string
  listener: Listener
  subscriptions: Subscriptions = new Map()
  /** The channels that it is on. */
  readonly channels = new Map<string, Membership>()
  hooks: StreamHooks | undefined
  /** Some tables are being caught up with: where the stream stands as a whole cannot be said. */
  isCatchingUp = false
  /** Batches in flight. */
  inFlight = 0
  lastSentAt = performance.now()
  #ending: Ending | 'gone' | undefined
  #gapAt = Number.NEGATIVE_INFINITY
  /** Sends the gap that has to wait. */
  #laterGap: NodeJS.Timeout | undefined
  readonly #keeper: StreamKeeper
  /** What waits until the token is known to be valid, in order. */
  #held: (() => void)[] = []
  #heldSize = 0

  constructor(
    transport: Transport,
    listener: Listener,
    address: string,
    keeper: StreamKeeper,
    id: string = randomUUID(),
  ) {
    this.id = id
    this.transport = transport
    this.listener = listener
    this.address = address
    this.#keeper = keeper
  }

  get isOpen(): boolean {
    return this.#ending === undefined
  }

  /** Undefined while it is open. */
  get ending(): Ending | 'gone' | undefined {
    return this.#ending
  }

  /** Sends frames, or gives up a client that does not take them. */
  send(frames: readonly string[]): void {
    if (frames.length === 0) return
    const size = frames.reduce((sum, frame) => sum + frame.length, 0)
    this.#whenValid(size, () => this.#send(frames))
  }

  #send(frames: readonly string[]): void {
    if (!this.isOpen) return
    // Before these: they may be large, and a client that reads in time may have them.
    if (this.transport.pendingBytes > pendingLimitBytes) {
      this.end('slow_client')
      return
    }
    this.lastSentAt = performance.now()
    this.transport.send(frames)
  }

  /** @param position how far the log has been read for all streams */
  heartbeat(position: Position | undefined): void {
    this.lastSentAt = performance.now()
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
    this.#whenValid(0, () => {
      if (this.isOpen) this.transport.gap(id)
    })
  }

  /** What was not sent while it was unknown whether the token is valid: it is. */
  release(): void {
    const held = this.#held
    this.#held = []
    this.#heldSize = 0
    for (const deliver of held) deliver()
  }

  /** @param size of what is delivered; beyond a limit the client resumes instead */
  #whenValid(size: number, deliver: () => void): void {
    if (!this.isOpen) return
    if (this.#held.length === 0 && this.#keeper.mayReceive(this)) {
      deliver()
      return
    }
    // The token may just have been found invalid.
    if (!this.isOpen) return
    this.#heldSize += size
    if (this.#heldSize > pendingLimitBytes && this.#held.length > 0) this.end('server_error')
    else this.#held.push(deliver)
  }

  /** Whether a client that resumes from the next event misses nothing: neither events of tables that are catching up nor a gap. */
  get isCertain(): boolean {
    return !this.isCatchingUp && this.#laterGap === undefined
  }

  /** Whether it has been sent everything up to the position that the log has been read to. */
  get isUpToDate(): boolean {
    return this.inFlight === 0 && this.#held.length === 0 && this.isCertain
  }

  /** Ends it from our side. */
  end(ending: Ending): void {
    if (!this.isOpen) return
    this.#ending = ending
    this.transport.end(ending)
    this.#close(ending)
  }

  /** The client has disconnected. */
  leave(): void {
    if (!this.isOpen) return
    this.#ending = 'gone'
    this.#close('gone')
  }

  #close(ending: Ending | 'gone'): void {
    clearTimeout(this.#laterGap)
    this.#held = []
    this.#keeper.onEnd(this, ending)
  }
}
