import { describe, expect, it } from 'vitest'
import { groups, screens } from './screens.ts'
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

  it('are an entry of the navigation or a tab of one', () => {
    const grouped = groups.flatMap((group) => screens.filter(({ entry }) => entry?.group === group))
    expect(screens.filter((screen) => screen.entry !== undefined && !grouped.includes(screen))).toEqual([
      expect.objectContaining({ path: '/settings' }),
    ])
    const entries = screens.filter(({ entry }) => entry !== undefined).map(({ path }) => path)
    const tabs = screens.filter(({ entry }) => entry === undefined)
    expect(tabs.filter(({ tabOf }) => tabOf === undefined || !entries.includes(tabOf))).toEqual([])
  })

  it('contain every path below their own, and no path that merely starts alike', () => {
    expect(screenOf('/storage')?.title).toBe('Storage')
    expect(screenOf('/storage/photos')?.title).toBe('Storage')
    expect(screenOf('/storages')).toBeUndefined()
    expect(screenOf('/')).toBeUndefined()
  })
})
