import type { PeerChannel, PeerMessage, PeerReceiver } from '../database/notifications/peers.ts'

/** Channel of a worker to the other workers, through the parent. */
export class ParentChannel implements PeerChannel {
  readonly #send: (message: PeerMessage) => void
  #receiver: PeerReceiver | undefined
  #isLeader: boolean | undefined

  constructor(send: (message: PeerMessage) => void) {
    this.#send = send
  }

  /** Returns the milliseconds of the system's monotonic clock. `performance.now` has another origin in each process. */
  now(): number {
    return Number(process.hrtime.bigint()) / 1e6
  }

  send(message: PeerMessage): void {
    this.#send(message)
  }

  connect(receiver: PeerReceiver): void {
    this.#receiver = receiver
    if (this.#isLeader !== undefined) receiver.setLeader(this.#isLeader)
  }

  setLeader(isLeader: boolean): void {
    this.#isLeader = isLeader
    this.#receiver?.setLeader(isLeader)
  }

  /** Passes a message on. Without a receiver it is not needed: a loop that starts reads everything. */
  receive(message: PeerMessage): void {
    this.#receiver?.receive(message)
  }
}
