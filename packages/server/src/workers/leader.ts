import type { PeerMessage } from '../database/notifications/peers.ts'
import type { ToWorker } from './messages.ts'

/** Message that concerns the leader or comes from another worker. */
type LeaderMessage = Extract<ToWorker, { kind: 'leader' | 'peer' }>

/**
 * Choice of the worker that polls the database for all, and passage of messages between workers. A worker remains the
 * leader while it serves.
 */
export class Leader<Worker extends object> {
  readonly #tell: (worker: Worker, message: LeaderMessage) => void
  #current: Worker | undefined

  constructor(tell: (worker: Worker, message: LeaderMessage) => void) {
    this.#tell = tell
  }

  /**
   * Names another leader if the present one does not serve any more. Without a successor it remains the leader: its polls
   * cease by themselves if it has ended.
   *
   * @param serving workers that serve and are neither silent nor draining
   */
  update(serving: readonly Worker[], all: Iterable<Worker>): void {
    const [first] = serving
    if (first === undefined || (this.#current !== undefined && serving.includes(this.#current))) return
    this.#current = first
    for (const worker of all) this.#tell(worker, { kind: 'leader', isLeader: worker === first })
  }

  /** Passes a message to the other workers. Polls of an earlier leader are dropped. */
  pass(from: Worker, message: PeerMessage, all: Iterable<Worker>): void {
    if (message.kind === 'polled' && from !== this.#current) return
    for (const worker of all) if (worker !== from) this.#tell(worker, { kind: 'peer', message })
  }
}
