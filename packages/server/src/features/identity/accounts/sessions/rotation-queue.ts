import { Batcher } from '../../../../lib/batcher.ts'
import type { RefreshedSession, Rotation } from './sessions.ts'

export interface RotationQueueOptions {
  /** Rotates the sessions that can be rotated in one statement. */
  readonly rotateAll: (rotations: readonly Rotation[]) => Promise<readonly RefreshedSession[]>
  /** Rotates one session, or returns it unchanged within the grace period. It may wait for a lock. */
  readonly renewOne: (rotation: Rotation) => Promise<RefreshedSession | undefined>
}

/**
 * Maximum number of statements in flight. A rotation mostly waits for its commit to reach the disk. Two
 * statements keep the disk writing while arriving refreshes form the next batch. On two cores this made twice
 * as many rotations as one commit per refresh on the four connections of the server's own work.
 */
const inFlight = 2
/** Maximum number of sessions in one statement. */
const size = 64

/** Queue that rotates concurrently refreshed sessions in one statement, with one commit. */
export class RotationQueue {
  readonly #options: RotationQueueOptions
  readonly #batches: Batcher<Rotation, RefreshedSession | undefined>

  constructor(options: RotationQueueOptions) {
    this.#options = options
    this.#batches = new Batcher({ size, inFlight }, (rotations) => this.#rotate(rotations))
  }

  /** Rotates a session with the next batch. @returns undefined when the session cannot be refreshed */
  async renew(rotation: Rotation): Promise<RefreshedSession | undefined> {
    return (await this.#batches.add(rotation)) ?? (await this.#options.renewOne(rotation))
  }

  /**
   * Rotates a batch. If the whole statement fails, for example because the connection was lost, each refresh
   * retries by itself.
   */
  async #rotate(rotations: readonly Rotation[]): Promise<readonly (RefreshedSession | undefined)[]> {
    const sessions = await this.#options.rotateAll(rotations).catch(() => [])
    const rotated = new Map(sessions.map((session) => [session.session_id, session]))
    return rotations.map(({ sessionId, generation }) => {
      const session = rotated.get(sessionId)
      // The first of several refreshes with the current token has rotated the session. An older token is a replay.
      if (session?.generation !== generation + 1) return undefined
      rotated.delete(sessionId)
      return session
    })
  }
}
