import type { Membership, Stream } from '../stream.ts'

/** Members of channels on this node. */
export class ChannelMembers {
  readonly #byChannel = new Map<string, Set<Membership>>()

  get isEmpty(): boolean {
    return this.#byChannel.size === 0
  }

  /** Channels that have members. */
  get channels(): readonly string[] {
    return [...this.#byChannel.keys()]
  }

  /** Members of all channels. */
  get all(): readonly Membership[] {
    return [...this.#byChannel.values()].flatMap((members) => [...members])
  }

  /** Adds a membership of the stream or confirms an existing one: it is permitted now. @returns true if it is new */
  add(stream: Stream, channel: string): boolean {
    const permittedAt = performance.now()
    const known = stream.channels.get(channel)
    if (known !== undefined) {
      known.permittedAt = permittedAt
      return false
    }
    const membership = {
      ...{ stream, channel, permittedAt },
      maySendAt: Number.NEGATIVE_INFINITY,
      presence: undefined,
    }
    stream.addMembership(membership)
    const members = this.#byChannel.get(channel) ?? new Set()
    this.#byChannel.set(channel, members.add(membership))
    return true
  }

  remove(membership: Membership): void {
    const { stream, channel } = membership
    const members = this.#byChannel.get(channel)
    stream.deleteMembership(channel)
    members?.delete(membership)
    if (members?.size === 0) this.#byChannel.delete(channel)
  }

  /** Sends a frame to the members. @param except id of a stream that does not receive it */
  send(channel: string, frame: string, except?: string): void {
    const frames = [frame]
    for (const { stream } of this.#byChannel.get(channel) ?? []) if (stream.id !== except) stream.send(frames)
  }

  sendAll(frame: string): void {
    for (const stream of new Set(this.all.map((membership) => membership.stream))) stream.send([frame])
  }
}
