/** Position of a value in a queue. */
export interface QueueNode<Value> {
  readonly value: Value
}

interface LinkedNode<Value> extends QueueNode<Value> {
  previous: LinkedNode<Value> | undefined
  next: LinkedNode<Value> | undefined
  isQueued: boolean
}

/**
 * First-in, first-out queue whose steps take constant time for any length. An array moves its elements when one
 * is removed from the front or the middle.
 */
export class LinkedQueue<Value> {
  #first: LinkedNode<Value> | undefined
  #last: LinkedNode<Value> | undefined
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Oldest value. */
  get first(): Value | undefined {
    return this.#first?.value
  }

  /** Adds a value. @returns its position, for {@link remove} */
  push(value: Value): QueueNode<Value> {
    const node: LinkedNode<Value> = { value, previous: this.#last, next: undefined, isQueued: true }
    if (this.#last === undefined) this.#first = node
    else this.#last.next = node
    this.#last = node
    this.#length += 1
    return node
  }

  /** Removes the oldest value. */
  shift(): Value | undefined {
    const node = this.#first
    if (node === undefined) return undefined
    this.#unlink(node)
    return node.value
  }

  /** Removes the oldest values, up to the limit. */
  take(limit = Number.POSITIVE_INFINITY): Value[] {
    const taken: Value[] = []
    while (taken.length < limit && this.#first !== undefined) {
      taken.push(this.#first.value)
      this.#unlink(this.#first)
    }
    return taken
  }

  /** Removes a value of this queue, unless it was removed before. @returns true if this call removed it */
  remove(node: QueueNode<Value>): boolean {
    // Only push creates nodes.
    const linked = node as LinkedNode<Value>
    if (!linked.isQueued) return false
    this.#unlink(linked)
    return true
  }

  /** Removes the values that pass the test. */
  removeWhere(test: (value: Value) => boolean): Value[] {
    const removed: Value[] = []
    for (let node = this.#first; node !== undefined; ) {
      const { next, value } = node
      if (test(value)) {
        this.#unlink(node)
        removed.push(value)
      }
      node = next
    }
    return removed
  }

  /** Yields the values from the oldest on. */
  *[Symbol.iterator](): Generator<Value> {
    for (let node = this.#first; node !== undefined; node = node.next) yield node.value
  }

  #unlink(node: LinkedNode<Value>): void {
    if (node.previous === undefined) this.#first = node.next
    else node.previous.next = node.next
    if (node.next === undefined) this.#last = node.previous
    else node.next.previous = node.previous
    // A removed node must not keep later ones alive.
    node.previous = undefined
    node.next = undefined
    node.isQueued = false
    this.#length -= 1
  }
}
