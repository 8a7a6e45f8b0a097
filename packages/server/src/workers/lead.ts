import type { PeerMessage } from '../database/notifications/peers.ts'
import type { ToWorker } from './messages.ts'

/** Message that concerns the lead or comes from another worker. */
type LeadMessage = Extract<ToWorker, { kind: 'lead' | 'peer' }>

/**
 * Choice of the worker that polls the database for all, and passage of messages between workers. A worker remains the
 * lead while it serves.
 */
export class Lead<Worker extends object> {
  readonly #tell: (worker: Worker, message: LeadMessage) => void
  #current: Worker | undefined

  constructor(tell: (worker: Worker, message: LeadMessage) => void) {
    this.#tell = tell
  }

  /**
   * Names another lead if the present one does not serve any more. Without a successor it remains the lead: its polls
   * cease by themselves if it has ended.
   *
   * @param serving workers that serve and are neither silent nor draining
   */
  update(serving: readonly Worker[], all: Iterable<Worker>): void {
    const [first] = serving
    if (first === undefined || (this.#current !== undefined && serving.includes(this.#current))) return
    this.#current = first
    for (const worker of all) this.#tell(worker, { kind: 'lead', isLead: worker === first })
  }

  /** Passes a message to the other workers. Polls of an earlier lead are dropped. */
  pass(from: Worker, message: PeerMessage, all: Iterable<Worker>): void {
    if (message.kind === 'polled' && from !== this.#current) return
    for (const worker of all) if (worker !== from) this.#tell(worker, { kind: 'peer', message })
  }
}
