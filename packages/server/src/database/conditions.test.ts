import { describe, expect, test } from 'vitest'
import { allOf, conjunction, when } from './conditions.ts'
import { sql } from './sql.ts'
import { textOfSql } from './tests/recording.ts'

describe('conditions', () => {
  const filter = (query: { readonly actor?: string; readonly since?: string }) =>
    allOf([
      when(query.actor, (actor) => sql`actor = ${actor}`),
      when(query.since, (since) => sql`at >= ${since}::timestamptz`),
    ])

  test('contain the parameters that have a value', () => {
    expect(textOfSql(filter({ actor: 'admin', since: '2026-01-02' }))).toEqual([
      'actor = $1 and at >= $2::timestamptz',
      'admin',
      '2026-01-02',
    ])
    expect(textOfSql(filter({ since: '2026-01-02' }))).toEqual(['at >= $1::timestamptz', '2026-01-02'])
  })

  test('are true without any value', () => {
    expect(textOfSql(filter({}))).toEqual(['true'])
    expect(conjunction([undefined])).toBeUndefined()
  })
})
