import { describe, expect, it } from 'vitest'
import { best, rate } from './match.ts'

describe('dashboard › command palette › match', () => {
  const order = (items: string[], typed: string) => best(items, typed, (item) => item, 10)

  it('puts what begins with the text before what contains it', () => {
    expect(order(['public.posts', 'oauth clients', 'blog post', 'posts'], 'post')).toEqual([
      'posts',
      'blog post',
      'public.posts',
    ])
  })

  it('needs every word, in any order and case', () => {
    expect(order(['API keys', 'API', 'keys of an app'], 'KEYS api')).toEqual(['API keys'])
  })

  it('keeps the order of the list while nothing is typed, apart from lengths', () => {
    expect(rate('Tables', '')).toBeGreaterThan(0)
  })

  it('takes signs of regular expressions literally', () => {
    expect(order(['a.b', 'axb'], 'a.b')).toEqual(['a.b'])
  })
})
