import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ConnectionLedger, divide, type LimitMessage } from './connections.ts'

const minimum = 4

/** Worker that obeys its messages late, and always has as many connections as it may. */
interface Worker {
  readonly id: number
  wanted: number
  open: number
  readonly inbox: LimitMessage[]
  /** Messages to the ledger that are in flight. */
  readonly outbox: (() => void)[]
}

type Step =
  | { readonly kind: 'start' }
  | { readonly kind: 'want'; readonly index: number; readonly wanted: number }
  | { readonly kind: 'receive' | 'deliver' | 'kill'; readonly index: number }
  | { readonly kind: 'settle' }
  | { readonly kind: 'plan'; readonly workers: number }

class Machine {
  readonly ledger: ConnectionLedger<Worker>
  readonly total: number
  planned: number
  /** Most connections that a plan has allowed so far. */
  allowed: number
  workers: Worker[] = []
  /** Connections of killed workers, which PostgreSQL still serves. */
  closing: number[] = []
  #started = 0
  #waiting = 0

  constructor(total: number, planned: number) {
    this.total = total
    this.planned = planned
    this.allowed = total
    this.ledger = new ConnectionLedger(
      { minimum, send: (worker, message) => worker.inbox.push(message) },
      { total, workers: planned },
    )
  }

  start(): void {
    if (this.workers.length + this.#waiting >= this.planned) return
    this.#started += 1
    const worker: Worker = { id: this.#started, wanted: 0, open: 0, inbox: [], outbox: [] }
    this.#waiting += 1
    this.ledger.add(worker, (limit) => {
      this.#waiting -= 1
      worker.open = limit
      this.workers.push(worker)
    })
  }

  plan(workers: number): void {
    if (workers < this.workers.length + this.#waiting) return
    this.planned = workers
    this.allowed = Math.max(this.allowed, workers * minimum)
    this.ledger.plan({ total: this.total, workers })
  }

  take(step: Step): void {
    if (step.kind === 'start') this.start()
    else if (step.kind === 'settle') this.settle()
    else if (step.kind === 'plan') this.plan(step.workers)
    else {
      const worker = this.workers[step.index % Math.max(this.workers.length, 1)]
      if (worker === undefined) return
      if (step.kind === 'want') this.want(worker, step.wanted)
      else if (step.kind === 'receive') this.receive(worker)
      else if (step.kind === 'deliver') worker.outbox.shift()?.()
      else this.kill(worker)
    }
  }

  want(worker: Worker, wanted: number): void {
    worker.wanted = wanted
    worker.outbox.push(() => this.ledger.want(worker, wanted))
  }

  receive(worker: Worker): void {
    const message = worker.inbox.shift()
    if (message === undefined) return
    worker.open = message.limit
    worker.outbox.push(() => this.ledger.confirm(worker, message.version))
  }

  kill(worker: Worker): void {
    this.workers = this.workers.filter((each) => each !== worker)
    this.closing.push(this.ledger.remove(worker))
  }

  settle(): void {
    const closing = this.closing.shift()
    if (closing !== undefined) this.ledger.settle(closing)
  }

  /** Delivers all messages, and lets all planned workers start. */
  finish(): void {
    while (this.closing.length > 0) this.settle()
    for (let turn = 0; turn < 1000; turn += 1) {
      this.start()
      const busy = this.workers.filter(({ inbox, outbox }) => inbox.length + outbox.length > 0)
      for (const worker of busy) {
        this.receive(worker)
        worker.outbox.shift()?.()
      }
      if (busy.length === 0 && this.workers.length === this.planned) return
    }
    throw new Error('the messages have no end')
  }

  get open(): number {
    const open = this.workers.reduce((total, worker) => total + worker.open, 0)
    return open + this.closing.reduce((total, each) => total + each, 0)
  }
}

const index = fc.nat(3)
const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<Step>({ kind: 'start' }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('want' as const), index, wanted: fc.nat(30) }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('receive' as const), index }) },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('deliver' as const), index }) },
    fc.record({ kind: fc.constant('kill' as const), index }),
    { weight: 2, arbitrary: fc.constant<Step>({ kind: 'settle' }) },
    fc.record({ kind: fc.constant('plan' as const), workers: fc.integer({ min: 1, max: 6 }) }),
  ),
  { minLength: 30, maxLength: 150 },
)
const machines = fc
  .record({ planned: fc.integer({ min: 2, max: 4 }), spare: fc.nat(30) })
  .map(({ planned, spare }): [number, number] => [planned * minimum + spare, planned])

describe('connections of workers', () => {
  test('never exceed those of the machine or of all planned workers, and no worker has fewer than the minimum', () => {
    fc.assert(
      fc.property(machines, steps, ([total, planned], sequence) => {
        const machine = new Machine(total, planned)
        for (let count = 0; count < planned; count += 1) machine.start()
        let fewest = minimum
        for (const step of sequence) {
          machine.take(step)
          expect(machine.open).toBeLessThanOrEqual(machine.allowed)
          fewest = Math.min(fewest, ...machine.workers.map(({ open }) => open))
        }
        expect(fewest).toBe(minimum)
      }),
      { numRuns: 1000 },
    )
  })

  test('are where they are wanted in the end: none is unused while a worker wants more than its fair part', () => {
    fc.assert(
      fc.property(machines, steps, ([total, planned], sequence) => {
        const machine = new Machine(total, planned)
        for (const step of sequence) machine.take(step)
        machine.finish()
        const { workers } = machine
        const allowed = Math.max(total, machine.planned * minimum)
        expect(machine.open).toBe(allowed)
        const fair = Math.floor(allowed / workers.length)
        const largest = Math.max(...workers.map(({ open }) => open))
        for (const { open, wanted } of workers) {
          expect(open).toBeGreaterThanOrEqual(Math.min(Math.max(wanted, minimum), fair))
          // A worker that wants more has as many as any other, but for the remainder.
          if (open < Math.min(wanted, allowed)) expect(open).toBeGreaterThanOrEqual(largest - 1)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('are equal parts of idle workers, also while one is replaced', () => {
    const machine = new Machine(20, 3)
    machine.start()
    expect(machine.workers.map(({ open }) => open)).toEqual([7])
    machine.start()
    machine.start()
    expect(machine.workers.map(({ open }) => open)).toEqual([7, 7, 6])
    const [first] = machine.workers
    if (first !== undefined) machine.kill(first)
    machine.settle()
    machine.start()
    machine.finish()
    expect(machine.workers.map(({ open }) => open).toSorted()).toEqual([6, 7, 7])
    expect(machine.workers.every(({ inbox }) => inbox.length === 0)).toBe(true)
  })

  test('are lent after their owner has confirmed, and returned when it needs them', () => {
    const machine = new Machine(12, 2)
    machine.start()
    machine.start()
    const [first, second] = machine.workers
    if (first === undefined || second === undefined) throw new Error('two workers were expected')
    machine.want(first, 30)
    first.outbox.shift()?.()
    expect({ first: first.inbox, second: second.inbox }).toEqual({
      first: [],
      second: [{ limit: 4, version: 1 }],
    })
    machine.receive(second)
    second.outbox.shift()?.()
    expect(first.inbox).toEqual([{ limit: 8, version: 1 }])
    machine.finish()
    machine.want(second, 5)
    machine.finish()
    expect([first.open, second.open]).toEqual([7, 5])
    machine.want(second, 9)
    machine.finish()
    expect([first.open, second.open]).toEqual([6, 6])
    machine.want(first, 0)
    machine.want(second, 0)
    machine.finish()
    expect([first.open, second.open]).toEqual([6, 6])
  })

  test('are not lowered by the confirmation of an earlier limit', () => {
    const machine = new Machine(12, 2)
    machine.start()
    machine.start()
    const [first, second] = machine.workers
    if (first === undefined || second === undefined) throw new Error('two workers were expected')
    machine.want(first, 30)
    first.outbox.shift()?.()
    machine.receive(second)
    machine.want(first, 0)
    first.outbox.shift()?.()
    // The limit of the second is 6 again before its confirmation of 4 arrives.
    expect(second.inbox).toEqual([{ limit: 6, version: 2 }])
    second.outbox.shift()?.()
    expect(first.inbox).toEqual([])
    machine.finish()
    expect([first.open, second.open]).toEqual([6, 6])
  })

  test('are lent after a worker was killed and PostgreSQL has closed them; its successor has the minimum at once', () => {
    const machine = new Machine(12, 2)
    machine.start()
    machine.start()
    const [first, second] = machine.workers
    if (first === undefined || second === undefined) throw new Error('two workers were expected')
    machine.want(first, 30)
    machine.finish()
    machine.want(second, 30)
    second.outbox.shift()?.()
    machine.kill(first)
    expect(machine.closing).toEqual([4])
    machine.start()
    expect(machine.workers.map(({ open }) => open)).toEqual([4, 4])
    machine.settle()
    expect(second.inbox).toEqual([{ limit: 8, version: 2 }])
  })

  test('are granted to further workers, as in a reload, when others have returned them', () => {
    const machine = new Machine(16, 2)
    machine.start()
    machine.start()
    machine.plan(4)
    machine.start()
    machine.start()
    expect(machine.workers.map(({ open }) => open)).toEqual([8, 8])
    for (const worker of machine.workers.slice(0, 1)) {
      machine.receive(worker)
      worker.outbox.shift()?.()
    }
    expect(machine.workers.map(({ open }) => open)).toEqual([4, 8, 4])
    machine.finish()
    expect(machine.workers.map(({ open }) => open)).toEqual([4, 4, 4, 4])
    for (const worker of machine.workers.slice(0, 2)) machine.kill(worker)
    machine.plan(2)
    machine.finish()
    expect(machine.workers.map(({ open }) => open)).toEqual([8, 8])
  })

  test('exceed those of the machine by the minimum of all planned workers at most, and only until these end', () => {
    const machine = new Machine(10, 2)
    machine.start()
    machine.start()
    machine.plan(4)
    machine.start()
    machine.start()
    machine.finish()
    expect(machine.workers.map(({ open }) => open)).toEqual([4, 4, 4, 4])
    for (const worker of machine.workers.slice(0, 2)) machine.kill(worker)
    machine.plan(2)
    machine.finish()
    expect(machine.workers.map(({ open }) => open)).toEqual([5, 5])
  })

  test('are not granted to a worker that ends while it waits', () => {
    const machine = new Machine(8, 2)
    machine.start()
    machine.start()
    const waiting: Worker = { id: 3, wanted: 0, open: 0, inbox: [], outbox: [] }
    machine.ledger.add(waiting, () => expect.unreachable())
    expect(machine.ledger.remove(waiting)).toBe(0)
    machine.plan(3)
    machine.finish()
    expect(machine.workers.map(({ open }) => open)).toEqual([4, 4, 4])
  })
})

test.each([
  { wanted: [4, 4], available: 12, parts: [6, 6] },
  { wanted: [30, 4], available: 12, parts: [8, 4] },
  { wanted: [7, 4], available: 13, parts: [7, 6] },
  { wanted: [30, 30, 4], available: 21, parts: [9, 8, 4] },
  { wanted: [4, 5, 4], available: 20, parts: [7, 7, 6] },
  { wanted: [9], available: 5, parts: [5] },
])('$available connections for $wanted are divided into $parts', ({ wanted, available, parts }) => {
  expect(divide(wanted, available)).toEqual(parts)
})
