import { expect, test } from 'vitest'
import {
  comparedColumns,
  conditionsOf,
  hasAlternatives,
  maskSubqueries,
  mentions,
} from './policy-expressions.ts'

test.each([
  ['(owner = basalt.user_id())', ['owner = basalt.user_id()'], false],
  ['((a = 1) AND ((b = 2) OR c))', ['a = 1', 'b = 2', 'c'], false],
  ["((a = ' OR '::text) OR (b = 2))", ["a = ' OR '::text", 'b = 2'], true],
  ['(((a = 1) OR b) AND (c OR d))', ['a = 1', 'b', 'c', 'd'], true],
  ['(a BETWEEN 1 AND 2)', ['a BETWEEN 1 AND 2'], false],
])('policy expressions › split %s into the conditions %j', (expression, conditions, isAlternative) => {
  expect(conditionsOf(expression)).toEqual(conditions)
  expect(hasAlternatives(expression)).toBe(isAlternative)
})

test.each([
  ['(owner = basalt.user_id())', true],
  ['(basalt.user_id() = owner)', true],
  ["((owner)::text = 'x'::text)", false],
  ['(owner = ANY (ARRAY( SELECT m.owner FROM m)))', true],
  ['(lower(owner) = lower(basalt.user_email()))', false],
  ['(EXISTS ( SELECT FROM m WHERE (m.owner = note.owner)))', false],
  ['(owner > 1)', false],
])('policy expressions › find out whether %s compares owner: %s', (expression, isCompared) => {
  expect(comparedColumns(expression, { columns: ['owner'] })).toEqual(isCompared ? ['owner'] : [])
})

test('policy expressions › mask a subquery with its content, and find a name only outside of it', () => {
  const expression = "((a = ( SELECT f('(') AS f)) AND (EXISTS ( SELECT FROM m WHERE (m.b = t.b))))"
  const masked = maskSubqueries(expression)
  expect(masked.replace(/\s+/g, ' ')).toBe('((a = ) AND (EXISTS ))')
  expect(masked).toHaveLength(expression.length)
  expect([mentions(masked, 'a'), mentions(masked, 'b'), mentions('may_see(b)', 'b')]).toEqual([
    true,
    false,
    true,
  ])
})
