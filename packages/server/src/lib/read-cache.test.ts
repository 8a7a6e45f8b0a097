import { expect, test } from 'vitest'
import { ReadCache } from './read-cache.ts'

function createCache() {
  const reads: string[] = []
  const cache = new ReadCache<string, string>({
    limit: 12,
    weigh: (value) => value.length,
    read: async (key) => {
      reads.push(key)
      if (key === 'broken') throw new Error('no')
      return key === 'none' ? undefined : key
    },
  })
  return { cache, reads }
}

test('read cache › shares one read among concurrent and later requests', async () => {
  const { cache, reads } = createCache()
  expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual(['a', 'a'])
  expect(await cache.get('a')).toBe('a')
  expect(reads).toEqual(['a'])
})

test('read cache › reads a value again that is missing, fails or weighs a quarter', async () => {
  const { cache, reads } = createCache()
  for (let round = 0; round < 2; round += 1) {
    expect(await cache.get('none')).toBeUndefined()
    await expect(cache.get('broken')).rejects.toThrow('no')
    expect(await cache.get('four')).toBe('four')
  }
  expect(reads).toEqual(['none', 'broken', 'four', 'none', 'broken', 'four'])
})

test('read cache › evicts the least recently used values first', async () => {
  const { cache, reads } = createCache()
  for (const key of ['111', '222', '333', '444', '111', '555', '111', '222']) await cache.get(key)
  expect(reads).toEqual(['111', '222', '333', '444', '555', '222'])
})
