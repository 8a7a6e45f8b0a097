import { describe, expect, it } from 'vitest'
import { screens, sections } from './screens.ts'
import { screenOf } from './shell/location.ts'

describe('dashboard › screens', () => {
  it('have unique paths and keys', () => {
    const paths = screens.map(({ path }) => path)
    const keys = screens.flatMap(({ key }) => key ?? [])
    expect(new Set(paths).size).toBe(paths.length)
    expect(new Set(keys).size).toBe(keys.length)
    // The keys `g h` lead to Home.
    expect(keys.filter((key) => key.length !== 1 || key === 'h')).toEqual([])
    expect(paths.filter((path) => path === '/sign-in' || path.endsWith('/'))).toEqual([])
  })

  it('belong to a navigation section', () => {
    expect(screens.filter(({ section }) => !sections.includes(section))).toEqual([])
  })

  it('contain every path below their own, and no path that merely starts alike', () => {
    expect(screenOf('/storage')?.title).toBe('Storage')
    expect(screenOf('/storage/photos')?.title).toBe('Storage')
    expect(screenOf('/storages')).toBeUndefined()
    expect(screenOf('/')).toBeUndefined()
  })
})
