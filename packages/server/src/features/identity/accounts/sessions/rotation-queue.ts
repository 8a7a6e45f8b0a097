import { Batcher } from '../../../../lib/batcher.ts'
import type { RefreshedSession, Rotation } from './sessions.ts'

export interface RotationQueueOptions {
  /** Rotates those of the sessions that can be at once. */
  readonly rotateAll: (rotations: readonly Rotation[]) => Promise<readonly RefreshedSession[]>
  /** Rotates one session, or answers it as it is within the grace period; may wait for a lock. */
  readonly renewOne: (rotation: Rotation) => Promise<RefreshedSession | undefined>
}

/**
 * Statements in flight at once. A rotation is mostly the wait for its commit to reach the disk: two statements keep
 * that going while the refreshes that arrive meanwhile form the next one (measured on two cores: twice as many as with
 * one commit for each refresh on the four connections of the server's own work).
 */
const inFlight = 2
/** Sessions of one statement. */
const size = 64

/** Rotates sessions that are refreshed at the same time in one statement, with one commit. */
export class RotationQueue {
  readonly #options: RotationQueueOptions
  readonly #batches: Batcher<Rotation, RefreshedSession | undefined>

  constructor(options: RotationQueueOptions) {
    this.#options = options
    this.#batches = new Batcher({ size, inFlight }, (rotations) => this.#rotate(rotations))
  }

  /** @returns undefined when the session cannot be refreshed */
  async renew(rotation: Rotation): Promise<RefreshedSession | undefined> {
    return (await this.#batches.add(rotation)) ?? (await this.#options.renewOne(rotation))
  }

  /** A failure of the whole statement, that of a lost connection included, is left to each refresh to meet. */
  async #rotate(rotations: readonly Rotation[]): Promise<readonly (RefreshedSession | undefined)[]> {
    const sessions = await this.#options.rotateAll(rotations).catch(() => [])
    const rotated = new Map(sessions.map((session) => [session.session_id, session]))
    return rotations.map(({ sessionId, generation }) => {
      const session = rotated.get(sessionId)
      // The first of several refreshes with the current token has rotated it; an older token is a replay.
      if (session?.generation !== generation + 1) return undefined
      rotated.delete(sessionId)
      return session
    })
  }
}
