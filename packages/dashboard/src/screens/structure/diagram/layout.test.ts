import { describe, expect, it } from 'vitest'
import { type Box, layOut } from './layout.ts'

const sizes = (...ids: string[]) => ids.map((id) => ({ id, width: 160, height: 60 }))
const overlap = (one: Box, other: Box) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height

function overlapping(boxes: readonly Box[]): string[] {
  return boxes.flatMap((one, index) =>
    boxes.slice(index + 1).flatMap((other) => (overlap(one, other) ? [`${one.id} ${other.id}`] : [])),
  )
}

describe('dashboard › structure › diagram layout', () => {
  it('places referenced tables to the left of referencing tables', () => {
    const { boxes } = layOut(sizes('line', 'sale', 'item', 'shop'), [
      { from: 'line', to: 'sale' },
      { from: 'line', to: 'item' },
      { from: 'sale', to: 'shop' },
    ])
    const x = (id: string) => boxes.get(id)?.x ?? Number.NaN
    expect(x('shop')).toBeLessThan(x('sale'))
    expect(x('sale')).toBeLessThan(x('line'))
    expect(x('item')).toBeLessThan(x('line'))
  })

  it('supports circles, self-references and missing tables', () => {
    const { boxes } = layOut(sizes('a', 'b', 'c'), [
      { from: 'a', to: 'b' },
      { from: 'b', to: 'c' },
      { from: 'c', to: 'a' },
      { from: 'a', to: 'a' },
      { from: 'a', to: 'missing' },
    ])
    expect([...boxes.keys()].sort()).toEqual(['a', 'b', 'c'])
    expect(overlapping([...boxes.values()])).toEqual([])
    expect(layOut([], [])).toEqual({ boxes: new Map(), width: 0, height: 0 })
  })

  it('places 300 tables without overlap, around one hub or in chains, in a shape that fits a screen', () => {
    const many = Array.from({ length: 300 }, (_, index) => ({
      id: `t${index}`,
      width: 120 + (index % 7) * 20,
      height: 40 + (index % 5) * 18,
    }))
    const hub = many.slice(1, 150).map(({ id }) => ({ from: id, to: 't0' }))
    const chains = many
      .slice(150, 250)
      .map(({ id }, index) => ({ from: id, to: `t${150 + ((index * 7) % 100)}` }))
    const { boxes, width, height } = layOut(many, [...hub, ...chains])
    expect(boxes.size).toBe(300)
    expect(overlapping([...boxes.values()])).toEqual([])
    expect(width / height).toBeGreaterThan(0.4)
    expect(width / height).toBeLessThan(4)
    expect([...boxes.values()].every(({ x, y }) => x >= 0 && y >= 0)).toBe(true)
    expect(layOut(many, [...hub, ...chains])).toEqual({ boxes, width, height })
  })
})
