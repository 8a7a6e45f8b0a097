import { describe, expect, it } from 'vitest'
import { screens, sections } from './screens.ts'
import { screenOf } from './shell/location.ts'

describe('dashboard › screens', () => {
  it('have addresses and keys of their own', () => {
    const paths = screens.map(({ path }) => path)
    const keys = screens.flatMap(({ key }) => key ?? [])
    expect(new Set(paths).size).toBe(paths.length)
    expect(new Set(keys).size).toBe(keys.length)
    // `g h` goes home.
    expect(keys.filter((key) => key.length !== 1 || key === 'h')).toEqual([])
    expect(paths.filter((path) => path === '/sign-in' || path.endsWith('/'))).toEqual([])
  })

  it('belong to a section of the navigation', () => {
    expect(screens.filter(({ section }) => !sections.includes(section))).toEqual([])
  })

  it('have every address below their own, and no other that begins alike', () => {
    expect(screenOf('/storage')?.title).toBe('Storage')
    expect(screenOf('/storage/photos')?.title).toBe('Storage')
    expect(screenOf('/storages')).toBeUndefined()
    expect(screenOf('/')).toBeUndefined()
  })
})
