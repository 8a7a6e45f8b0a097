import { describe, expect, test } from 'vitest'
import { Batcher } from './batcher.ts'

/** Creates a handler whose batches end when the test says so. */
function createHandler() {
  const batches: { readonly items: readonly string[]; readonly end: PromiseWithResolvers<void> }[] = []
  const handle = async (items: readonly string[]) => {
    const end = Promise.withResolvers<void>()
    batches.push({ items, end })
    await end.promise
    return items.map((item) => item.toUpperCase())
  }
  return { batches, handle, items: () => batches.map((batch) => batch.items) }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('batcher', () => {
  test('handles items of one turn together, and later ones after them', async () => {
    const { batches, handle, items } = createHandler()
    const batcher = new Batcher<string, string>({ size: 2 }, handle)
    const results = ['a', 'b', 'c'].map((item) => batcher.add(item))
    await turn()
    expect(items()).toEqual([['a', 'b']])
    results.push(batcher.add('d'))
    batches[0]?.end.resolve()
    await turn()
    expect(items()).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    batches[1]?.end.resolve()
    expect(await Promise.all(results)).toEqual(['A', 'B', 'C', 'D'])
  })

  test('has as many batches in flight as it may', async () => {
    const { batches, handle, items } = createHandler()
    const batcher = new Batcher<string, string>({ size: 1, inFlight: 2 }, handle)
    const results = ['a', 'b', 'c'].map((item) => batcher.add(item))
    await turn()
    expect(items()).toEqual([['a'], ['b']])
    batches[1]?.end.resolve()
    await turn()
    expect(items()).toEqual([['a'], ['b'], ['c']])
    for (const { end } of batches) end.resolve()
    expect(await Promise.all(results)).toEqual(['A', 'B', 'C'])
  })

  test('rejects the items of a failed batch, and continues', async () => {
    const batcher = new Batcher<string>({ size: 1 }, async ([item]) => {
      if (item === 'a') throw new Error('refused')
    })
    const results = await Promise.allSettled(['a', 'b'].map((item) => batcher.add(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })

  test('is settled when nothing is left', async () => {
    const handled: string[] = []
    const batcher = new Batcher<string>({ size: 1 }, async (items) => {
      await turn()
      handled.push(...items)
    })
    for (const item of ['a', 'b', 'c']) void batcher.add(item)
    await batcher.settled()
    expect(handled).toEqual(['a', 'b', 'c'])
    await batcher.settled()
  })
})
