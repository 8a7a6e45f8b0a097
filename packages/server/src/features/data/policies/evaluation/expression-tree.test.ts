import { describe, expect, test } from 'vitest'
import { flatten, splitExpression } from './expression-tree.ts'

/** Returns operators and leaves in short form. */
function outline(text: string): unknown {
  const show = ({ operator, terms, text: leaf }: ReturnType<typeof splitExpression>): unknown =>
    operator === undefined ? leaf : [operator, ...terms.map(show)]
  return show(splitExpression(text))
}

describe('expression tree', () => {
  test.each([
    ['(a = 1)', 'a = 1'],
    ['((a = 1) AND (b = 2))', ['and', 'a = 1', 'b = 2']],
    ['((a = 1) OR ((b = 2) AND (c = 3)))', ['or', 'a = 1', ['and', 'b = 2', 'c = 3']]],
    ['(NOT ((a = 1) OR b))', ['not', ['or', 'a = 1', 'b']]],
    [
      "((name = ' AND '::text) OR (name = 'it''s) OR ('::text))",
      ['or', "name = ' AND '::text", "name = 'it''s) OR ('::text"],
    ],
    ["((a = E'\\\\'' AND (') OR b)", ['or', "a = E'\\\\'' AND ('", 'b']],
    ['(("a AND b" = 1) AND ("or" > 2))', ['and', '"a AND b" = 1', '"or" > 2']],
    [
      '(id IN ( SELECT m.id FROM m WHERE ((m.a = 1) AND (m.b = 2))))',
      'id IN ( SELECT m.id FROM m WHERE ((m.a = 1) AND (m.b = 2)))',
    ],
    ['CASE WHEN (a AND b) THEN true ELSE false END', 'CASE WHEN (a AND b) THEN true ELSE false END'],
    ['(a[1] = 2)', 'a[1] = 2'],
    ['true', 'true'],
    ['', ''],
  ])('splits %s', (text, expected) => {
    expect(outline(text)).toEqual(expected)
  })

  test.each([
    ['(owner_id = basalt.user_id())', ['owner_id', 'basalt.user_id()']],
    ['(team_id = ANY (ARRAY[1, 2]))', ['team_id']],
    ['(id IN ( SELECT 1))', ['id']],
    ["((tags || '{a}'::text[]) @> other)", ["(tags || '{a}'::text[])", 'other']],
    ['(a IS NOT NULL)', []],
  ])('finds the sides of %s', (text, sides) => {
    expect(splitExpression(text).sides).toEqual(sides)
  })

  test('leaves an expression with too many or too deep parts in one piece', () => {
    const wide = Array.from({ length: 1000 }, (_, index) => `(c${index} = 1)`).join(' AND ')
    expect(splitExpression(wide).terms).toEqual([])
    let deep = 'a'
    for (let level = 0; level < 200; level += 1) deep = `((${deep}) AND b)`
    expect(flatten(splitExpression(deep)).length).toBeLessThan(100)
  })
})
