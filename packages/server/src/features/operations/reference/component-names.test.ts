import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { componentSuffixes, nameComponents } from './component-names.ts'

const named = (collections: readonly string[], reserved: readonly string[] = []) =>
  Object.fromEntries(nameComponents(collections, reserved))

describe('names of components of tables', () => {
  test('are those of the tables, as types are written', () => {
    expect(named(['track', 'playlist_track', 'userProfiles', 'archive.report', 'größe'])).toEqual({
      track: 'Track',
      playlist_track: 'PlaylistTrack',
      userProfiles: 'UserProfiles',
      'archive.report': 'ArchiveReport',
      größe: 'GroE',
    })
  })

  test('begin with a letter, whatever a table is called', () => {
    expect(named(['2fa', '表', '🦊'])).toEqual({ '2fa': 'Table2fa', 表: 'Table', '🦊': 'Table2' })
  })

  test('are those of a plain name whatever its neighbours are called, which get a number', () => {
    expect(named(['A B', 'a.b', 'a_b', 'ab'])).toEqual({ a_b: 'AB', ab: 'Ab2', 'A B': 'AB3', 'a.b': 'AB4' })
  })

  test('leave the components of neighbours alone', () => {
    expect(named(['track', 'track_create', 'track_page'])).toEqual({
      track: 'Track',
      track_create: 'TrackCreate2',
      track_page: 'TrackPage2',
    })
  })

  test('leave the components and operations of every server alone', () => {
    expect(named(['error', 'record', 'jobs', 'error_record'], ['Error', 'RecordPage', 'jobs'])).toEqual({
      error: 'ErrorRecord',
      record: 'RecordRecord',
      jobs: 'JobsRecord',
      error_record: 'ErrorRecord2',
    })
  })

  test('are ones that OpenAPI allows, and no two components are the same', () => {
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
