import { describe, expect, test } from 'vitest'
import { parseRelationNames, withRelationNames } from './relation-comments.ts'
import { type ForeignKeyEdge, nameByConstraint, nameRelationships } from './relationships.ts'

/** `book(3) -> person`, a key on the third column. */
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

describe('names of relations', () => {
  test('a second key does not take them, whatever its constraint is called', () => {
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
    // Names of before followed the alphabet.
    expect([...(nameByConstraint([second, first]).get('book')?.keys() ?? [])]).toEqual([
      'person',
      'person_by_author',
    ])
  })

  test('on one column the name of the constraint decides, and a renamed constraint changes nothing else', () => {
    expect(names([key('z', 'author', 2), key('b', 'author', 2)], 'book')).toEqual({
      person: 'b',
      person_by_author: 'z',
    })
    expect(names([key('zzz', 'author', 2), key('b', 'editor', 5)], 'book')).toEqual({
      person: 'zzz',
      person_by_editor: 'b',
    })
  })

  test('a table of the same schema comes before one that is called the same elsewhere', () => {
    const far = key('a', 'person_id', 1, { schema: 'archive' })
    expect(names([far, key('b', 'person_id', 9)], 'person')).toEqual({ book: 'b', book_by_person_id: 'a' })
  })

  test('a comment names them outright, before all that are derived', () => {
    const commented = key('b', 'editor', 5, { comment: 'Who edits.\n@name person\n@reverse_name book' })
    expect(names([key('a', 'author', 2), commented], 'book')).toEqual({ person: 'b', person_by_author: 'a' })
    expect(names([key('a', 'author', 2), commented], 'person')).toEqual({ book: 'b', book_by_author: 'a' })
  })

  test('of two comments with one name the first column has it, and the other key its derived name', () => {
    const twice = [
      key('a', 'editor_id', 5, { comment: '@name writer' }),
      key('b', 'author_id', 2, { comment: '@name writer' }),
    ]
    expect(names(twice, 'book')).toEqual({ writer: 'b', editor: 'a' })
  })

  test.each(['@name a.b', '@name a,b', '@name 1st', '@name', '@name two words', 'see @name author'])(
    'a comment that gives no usable name is left to people: %s',
    (comment) => {
      expect(parseRelationNames(comment)).toEqual({})
      expect(names([key('a', 'author_id', 2, { comment })], 'book')).toEqual({ author: 'a' })
    },
  )

  test('a proposed comment keeps what the comment says besides', () => {
    const wanted = new Map([['@name', 'author']] as const)
    expect(withRelationNames('Who wrote it.\n@name writer\n@reverse_name works', wanted)).toBe(
      '@name author\nWho wrote it.\n@reverse_name works',
    )
    expect(withRelationNames(undefined, wanted)).toBe('@name author')
  })
})
