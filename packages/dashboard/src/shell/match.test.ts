import { describe, expect, it } from 'vitest'
import { best, rate } from './match.ts'

describe('dashboard › command palette › match', () => {
  const order = (items: string[], typed: string) => best(items, typed, (item) => item, 10)

  it('ranks prefixes before other matches', () => {
    expect(order(['public.posts', 'oauth clients', 'blog post', 'posts'], 'post')).toEqual([
      'posts',
      'blog post',
      'public.posts',
    ])
  })

  it('requires every word, in any order and case', () => {
    expect(order(['API keys', 'API', 'keys of an app'], 'KEYS api')).toEqual(['API keys'])
  })

  it('keeps the order of the list, apart from lengths, while the input is empty', () => {
    expect(rate('Tables', '')).toBeGreaterThan(0)
  })

  it('matches special characters of regular expressions literally', () => {
    expect(order(['a.b', 'axb'], 'a.b')).toEqual(['a.b'])
  })
})
