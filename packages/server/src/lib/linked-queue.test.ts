import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LinkedQueue, type QueueNode } from './linked-queue.ts'

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'push' } as const) },
    fc.constant({ kind: 'shift' } as const),
    fc.record({ kind: fc.constant('take' as const), limit: fc.nat(3) }),
    fc.record({ kind: fc.constant('remove' as const), index: fc.nat(20) }),
    fc.record({ kind: fc.constant('removeWhere' as const), divisor: fc.integer({ min: 2, max: 5 }) }),
  ),
  { maxLength: 60 },
)

test('linked queue › behaves like an array', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const queue = new LinkedQueue<number>()
      const nodes: QueueNode<number>[] = []
      let model: number[] = []
      for (const step of sequence) {
        if (step.kind === 'push') {
          model.push(nodes.length)
          nodes.push(queue.push(nodes.length))
        } else if (step.kind === 'shift') {
          expect(queue.shift()).toBe(model.shift())
        } else if (step.kind === 'take') {
          expect(queue.take(step.limit)).toEqual(model.splice(0, step.limit))
        } else if (step.kind === 'removeWhere') {
          const isDue = (value: number) => value % step.divisor === 0
          expect(queue.removeWhere(isDue)).toEqual(model.filter(isDue))
          model = model.filter((value) => !isDue(value))
        } else {
          const node = nodes[step.index]
          if (node === undefined) continue
          // A second removal finds nothing.
          expect(queue.remove(node)).toBe(model.includes(node.value))
          model = model.filter((value) => value !== node.value)
        }
        expect([...queue]).toEqual(model)
        expect(queue.length).toBe(model.length)
        expect(queue.first).toBe(model[0])
      }
    }),
  )
})
