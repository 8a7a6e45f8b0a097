/** Member of a {@link LaneHeap}. */
export interface HeapMember {
  /** Sort key; the smallest comes first. */
  order: number
  /** Index in the heap, which the heap maintains; -1 outside of it. */
  heapIndex: number
}

/** Binary heap whose members know their index, so that each is added, removed and moved in logarithmic time. */
export class LaneHeap<Member extends HeapMember> {
  readonly #members: Member[] = []

  /** Member with the smallest order. */
  get first(): Member | undefined {
    return this.#members[0]
  }

  get members(): Iterable<Member> {
    return this.#members
  }

  add(member: Member): void {
    member.heapIndex = this.#members.length
    this.#members.push(member)
    this.#rise(member)
  }

  remove(member: Member): void {
    const { heapIndex } = member
    const last = this.#members.pop()
    member.heapIndex = -1
    if (last === undefined || last === member) return
    this.#put(last, heapIndex)
    this.#rise(last)
    this.sink(last)
  }

  /** Restores the heap after the order of a member has grown. */
  sink(member: Member): void {
    for (;;) {
      const index = member.heapIndex
      const left = this.#members[2 * index + 1]
      const right = this.#members[2 * index + 2]
      const child = right !== undefined && left !== undefined && right.order < left.order ? right : left
      if (child === undefined || child.order >= member.order) return
      this.#put(member, child.heapIndex)
      this.#put(child, index)
    }
  }

  #put(member: Member, index: number): void {
    this.#members[index] = member
    member.heapIndex = index
  }

  #rise(member: Member): void {
    for (;;) {
      const index = member.heapIndex
      const parent = index === 0 ? undefined : this.#members[(index - 1) >> 1]
      if (parent === undefined || parent.order <= member.order) return
      this.#put(member, parent.heapIndex)
      this.#put(parent, index)
    }
  }
}
