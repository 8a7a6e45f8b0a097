import { describe, expect, test } from 'vitest'
import { parseRelationNames, withRelationNames } from './relation-comments.ts'
import { type ForeignKeyEdge, nameByConstraint, nameRelationships } from './relationships.ts'

/** Returns a foreign key on the third column, `book(3) -> person`. */
function key(
  constraint: string,
  column: string,
  position: number,
  more: { from?: string; to?: string; comment?: string; schema?: string } = {},
): ForeignKeyEdge {
  const { from = 'book', to = 'person', comment, schema = 'public' } = more
  const collection = schema === 'public' ? from : `${schema}.${from}`
  return {
    constraint,
    from: { collection, schema, table: from, columns: [column], position },
    to: { collection: to, schema: 'public', table: to, columns: ['id'] },
    isInherited: false,
    comment,
  }
}

function names(edges: readonly ForeignKeyEdge[], collection: string): Record<string, string> {
  const named = nameRelationships(edges).get(collection) ?? new Map()
  return Object.fromEntries([...named].map(([name, { constraint }]) => [name, constraint]))
}

describe('relationship names', () => {
  test('are not lost to a second key, whatever the name of its constraint', () => {
    const first = key('book_person_fkey', 'author', 2)
    const second = key('a_first_by_alphabet', 'editor', 5)
    expect(names([second, first], 'book')).toEqual({
      person: 'book_person_fkey',
      person_by_editor: 'a_first_by_alphabet',
    })
    expect(names([second, first], 'person')).toEqual({
      book: 'book_person_fkey',
      book_by_editor: 'a_first_by_alphabet',
    })
    // Earlier names followed the alphabet.
    expect([...(nameByConstraint([second, first]).get('book')?.keys() ?? [])]).toEqual([
      'person',
      'person_by_author',
    ])
  })

  test('follow the name of the constraint for two keys on one column, and renaming one changes no other', () => {
    expect(names([key('z', 'author', 2), key('b', 'author', 2)], 'book')).toEqual({
      person: 'b',
      person_by_author: 'z',
    })
    expect(names([key('zzz', 'author', 2), key('b', 'editor', 5)], 'book')).toEqual({
      person: 'zzz',
      person_by_editor: 'b',
    })
  })

  test('prefer a table of the same schema to one with the same name elsewhere', () => {
    const far = key('a', 'person_id', 1, { schema: 'archive' })
    expect(names([far, key('b', 'person_id', 9)], 'person')).toEqual({ book: 'b', book_by_person_id: 'a' })
  })

  test('follow a comment before all that are derived', () => {
    const commented = key('b', 'editor', 5, { comment: 'Who edits.\n@name person\n@reverse_name book' })
    expect(names([key('a', 'author', 2), commented], 'book')).toEqual({ person: 'b', person_by_author: 'a' })
    expect(names([key('a', 'author', 2), commented], 'person')).toEqual({ book: 'b', book_by_author: 'a' })
  })

  test('give the name of two equal comments to the first column, and the other key its derived name', () => {
    const twice = [
      key('a', 'editor_id', 5, { comment: '@name writer' }),
      key('b', 'author_id', 2, { comment: '@name writer' }),
    ]
    expect(names(twice, 'book')).toEqual({ writer: 'b', editor: 'a' })
  })

  test.each(['@name a.b', '@name a,b', '@name 1st', '@name', '@name two words', 'see @name author'])(
    'ignore a comment without a usable name: %s',
    (comment) => {
      expect(parseRelationNames(comment)).toEqual({})
      expect(names([key('a', 'author_id', 2, { comment })], 'book')).toEqual({ author: 'a' })
    },
  )

  test('keep the rest of a comment in a proposed one', () => {
    const wanted = new Map([['@name', 'author']] as const)
    expect(withRelationNames('Who wrote it.\n@name writer\n@reverse_name works', wanted)).toBe(
      '@name author\nWho wrote it.\n@reverse_name works',
    )
    expect(withRelationNames(undefined, wanted)).toBe('@name author')
  })
})
