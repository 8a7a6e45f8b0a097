import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { componentSuffixes, nameComponents } from './component-names.ts'

const named = (collections: readonly string[], reserved: readonly string[] = []) =>
  Object.fromEntries(nameComponents(collections, reserved))

describe('component names of tables', () => {
  test('are those of the tables, in the spelling of types', () => {
    expect(named(['track', 'playlist_track', 'userProfiles', 'archive.report', 'größe'])).toEqual({
      track: 'Track',
      playlist_track: 'PlaylistTrack',
      userProfiles: 'UserProfiles',
      'archive.report': 'ArchiveReport',
      größe: 'GroE',
    })
  })

  test("begin with a letter, whatever the table's name", () => {
    expect(named(['2fa', '表', '🦊'])).toEqual({ '2fa': 'Table2fa', 表: 'Table', '🦊': 'Table2' })
  })

  test('are those of a plain name whatever its neighbours are called, which get a number', () => {
    expect(named(['A B', 'a.b', 'a_b', 'ab'])).toEqual({ a_b: 'AB', ab: 'Ab2', 'A B': 'AB3', 'a.b': 'AB4' })
  })

  test('do not collide with components of neighbours', () => {
    expect(named(['track', 'track_create', 'track_page'])).toEqual({
      track: 'Track',
      track_create: 'TrackCreate2',
      track_page: 'TrackPage2',
    })
  })

  test('do not collide with the static components and operations', () => {
    expect(named(['error', 'record', 'jobs', 'error_record'], ['Error', 'RecordPage', 'jobs'])).toEqual({
      error: 'ErrorRecord',
      record: 'RecordRecord',
      jobs: 'JobsRecord',
      error_record: 'ErrorRecord2',
    })
  })

  test('are allowed by OpenAPI, and unique', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' })), (collections) => {
        const names = [...nameComponents(collections, ['Error']).values()]
        expect(names).toHaveLength(collections.length)
        const components = names.flatMap((name) => ['', ...componentSuffixes].map((suffix) => name + suffix))
        expect(new Set(components.map((name) => name.toLowerCase())).size).toBe(components.length)
        for (const name of names) expect(name).toMatch(/^[A-Z][A-Za-z0-9]*$/)
      }),
    )
  })
})
