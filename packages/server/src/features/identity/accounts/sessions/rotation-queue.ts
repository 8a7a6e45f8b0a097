import { LinkedQueue } from '../../../../lib/linked-queue.ts'
import type { RefreshedSession, Rotation } from './sessions.ts'

export interface RotationQueueOptions {
  /** Rotates those of the sessions that can be at once. */
  readonly rotateAll: (rotations: readonly Rotation[]) => Promise<readonly RefreshedSession[]>
  /** Rotates one session, or answers it as it is within the grace period; may wait for a lock. */
  readonly renewOne: (rotation: Rotation) => Promise<RefreshedSession | undefined>
}

interface Pending {
  readonly rotation: Rotation
  readonly resolve: (session: Promise<RefreshedSession | undefined>) => void
}

/**
 * Statements in flight at once. A rotation is mostly the wait for its commit to reach the disk: two statements keep
 * that going while the refreshes that arrive meanwhile form the next one (measured on two cores: twice as many as with
 * one commit for each refresh on the four connections of the server's own work).
 */
const inFlightLimit = 2
/** Sessions of one statement. */
const groupLimit = 64

/** Rotates sessions that are refreshed at the same time in one statement, with one commit. */
export class RotationQueue {
  readonly #options: RotationQueueOptions
  readonly #pending = new LinkedQueue<Pending>()
  #inFlight = 0

  constructor(options: RotationQueueOptions) {
    this.#options = options
  }

  /** @returns undefined when the session cannot be refreshed */
  renew(rotation: Rotation): Promise<RefreshedSession | undefined> {
    return new Promise((resolve) => {
      this.#pending.push({ rotation, resolve })
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    if (this.#inFlight >= inFlightLimit || this.#pending.length === 0) return
    this.#inFlight += 1
    const group = this.#pending.take(groupLimit)
    const rotated = await this.#rotate(group.map(({ rotation }) => rotation))
    this.#inFlight -= 1
    for (const { rotation, resolve } of group) {
      const session = rotated.get(rotation.sessionId)
      // Of several refreshes of one session the first with the current token has rotated it; an older one is a replay.
      const isRotated = session?.generation === rotation.generation + 1
      if (isRotated) rotated.delete(rotation.sessionId)
      resolve(isRotated ? Promise.resolve(session) : this.#options.renewOne(rotation))
    }
    void this.#send()
  }

  /** A failure of the whole statement, that of a lost connection included, is left to each refresh to meet. */
  async #rotate(rotations: readonly Rotation[]): Promise<Map<string, RefreshedSession>> {
    const rotated = await this.#options.rotateAll(rotations).catch(() => [])
    return new Map(rotated.map((session) => [session.session_id, session]))
  }
}
