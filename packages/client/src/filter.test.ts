import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { ArgumentsOf, ExpandOf, InsertOf, UpdateOf } from './database-types.ts'
import {
  and,
  column,
  compileFilter,
  contains,
  eq,
  type Filter,
  gt,
  gte,
  ilike,
  like,
  lt,
  lte,
  neq,
  not,
  oneOf,
  or,
  where,
} from './filter.ts'

// biome-ignore lint/suspicious/noExplicitAny: hostile values have no type
const compile = (filter: any) => compileFilter(filter as Filter<Record<string, unknown>>)

describe('compileFilter', () => {
  test.each([
    [{ title: 'x', done: false, n: null }, `"title" = 'x' and "done" = false and "n" = null`],
    [
      { n: gt(5), id: oneOf([1, 2]), t: like('a%'), m: neq(null) },
      `"n" > 5 and "id" in (1, 2) and "t" ~ 'a%' and "m" != null`,
    ],
    [{ skipped: undefined }, ''],
    [{ big: 9007199254740993n }, '"big" = 9007199254740993'],
    [{ at: new Date(0) }, `"at" = '1970-01-01T00:00:00.000Z'`],
    [runInNewContext('({ at: new Date(0) })'), `"at" = '1970-01-01T00:00:00.000Z'`],
    [Object.assign(Object.create(null), { a: 1 }), '"a" = 1'],
    [{ 'odd " name': "it's \\ odd" }, `"odd "" name" = 'it\\'s \\\\ odd'`],
    [{ id: oneOf([]) }, '("id" is null and "id" is not null)'],
    [{ id: oneOf([null]) }, '"id" = null'],
    [{ id: oneOf([1, null]), n: 2 }, '("id" = null or "id" in (1)) and "n" = 2'],
    [where`a = ${"x' or '1' = '1"} and b in (${[1, 'y']})`, `a = 'x\\' or \\'1\\' = \\'1' and b in (1, 'y')`],
    [where`${column('album', 'odd "name"')} = ${1}`, '"album"."odd ""name""" = 1'],
    [and(where`a = 1 or b = 2`, not(where`c = ${true}`)), '(a = 1 or b = 2) and (not (c = true))'],
    [where`${or(where`a = 1`, where`b = 2`)} and c = 3`, '((a = 1) or (b = 2)) and c = 3'],
  ])('compiles filter %# with quoted values', (filter, text) => {
    expect(compile(filter)).toBe(text)
  })

  test.each([
    ['an object in place of a value', { name: { neq: null } }],
    ['a comparison that came as JSON', { name: JSON.parse(JSON.stringify(gt(5))) }],
    ['a condition that came as JSON', { name: { text: '1 = 1' } }],
    ['an array', { name: ['x'] }],
    ['a number that is none', { n: Number.NaN }],
    ['a function', { n: () => 1 }],
    ['an empty list', () => where`id in (${[]})`],
    ['a list in a list', () => where`id in (${[[1]]})`],
    ['an object in a template', () => where`id = ${{ toString: () => '1 or true' }}`],
    ['a filter of another class', new Map([['a', 1]])],
    ['nothing as a filter', undefined],
    ['null as a filter', null],
    ['a text as a filter', 'a = 1'],
    ['no condition', () => or()],
  ])('rejects %s', (_what, filter) => {
    expect(() => compile(typeof filter === 'function' ? filter() : filter)).toThrow(/^a filter |^a list /)
  })
})

test('Filter › allows null for equality only, at compile time', () => {
  const taken: Filter<{ n: number | null }>[] = [{ n: eq(null) }, { n: neq(null) }, { n: oneOf([1, null]) }]
  const refused: Filter<{ n: number | null; t: string | null }>[] = [
    // @ts-expect-error the server rejects null here
    { n: gt(null) },
    // @ts-expect-error
    { n: gte(null) },
    // @ts-expect-error
    { n: lt(null) },
    // @ts-expect-error
    { n: lte(null) },
    // @ts-expect-error
    { t: like(null) },
    // @ts-expect-error
    { t: ilike(null) },
    // @ts-expect-error
    { t: contains(null) },
  ]
  expect(taken.map((filter) => compileFilter(filter))).toEqual([
    '"n" = null',
    '"n" != null',
    '("n" = null or "n" in (1))',
  ])
  expect(refused).toHaveLength(7)
})

test('Filter › makes columns named like inherited members optional, at compile time', () => {
  type Result = { id: number; constructor: string | null; toString: string | null }
  interface Racing {
    tables: {
      result: {
        Row: Result
        Insert: Partial<Result>
        Update: Partial<Result>
        Relations: { constructor: { table: 'result'; many: false }; lap: { table: 'result'; many: true } }
      }
    }
    procedures: { find: { Args: Partial<Result>; Returns: number } }
  }
  const filters: Filter<Result>[] = [{}, { id: 1 }, { constructor: 'McLaren' }, { constructor: neq(null) }]
  const written: [InsertOf<Racing, 'result'>, UpdateOf<Racing, 'result'>] = [{ id: 1 }, { constructor: 'b' }]
  const expanded: ExpandOf<Racing, 'result'>[] = [{}, { lap: true }, { constructor: { lap: true } }]
  const called: ArgumentsOf<Racing, 'find'> = { id: 1 }
  // @ts-expect-error a number
  const refused: Filter<Result> = { constructor: 1 }
  expect(filters.map((filter) => compileFilter(filter))).toEqual([
    '',
    '"id" = 1',
    '"constructor" = \'McLaren\'',
    '"constructor" != null',
  ])
  expect([written, expanded, called, refused]).toHaveLength(4)
})
