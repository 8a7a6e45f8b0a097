import { describe, expect, test } from 'vitest'
import {
  booleanOfConstant,
  isNode,
  nodesOf,
  parseStoredExpression,
  textOfConstant,
  walk,
} from './stored-expression.ts'

function parseNode(text: string) {
  const node = parseStoredExpression(text)
  if (!isNode(node)) throw new Error('not a node')
  return node
}

describe('parseStoredExpression', () => {
  test('reads nodes, lists, bitmapsets and the bytes of constants', () => {
    const node = parseNode(
      '{OPEXPR :opno 98 :args ({VAR :varattno 2 :varnullingrels (b)} {CONST :constlen -1 :constbyval false :constisnull false :constvalue 8 [ 32 0 0 0 97 97 108 50 ]}) :location -1}',
    )
    const [variable, constant] = nodesOf(node, 'args') ?? []
    expect(node.fields.get('opno')).toBe('98')
    expect(variable?.fields.get('varnullingrels')).toEqual(['b'])
    expect(constant && textOfConstant(constant)).toBe('aal2')
    expect([...walk(node)].map(({ tag }) => tag)).toEqual(['OPEXPR', 'VAR', 'CONST'])
  })

  test('reads an alias that looks like a field, with protected characters', () => {
    const node = parseNode('{TARGETENTRY :resname :resno :resno 1 :resorigtbl 0}')
    expect(node.fields.get('resname')).toBe(':resno')
    expect(node.fields.get('resno')).toBe('1')
    expect(parseNode('{TARGETENTRY :resname a\\ \\}\\ :resno\\ 7 :resno 1}').fields.get('resno')).toBe('1')
  })

  test('reads booleans as bytes of a datum, null, and neither', () => {
    const constant = (value: string) =>
      booleanOfConstant(parseNode(`{CONST :consttype 16 :constbyval true ${value}}`))
    expect(constant(':constisnull false :constvalue 1 [ 1 0 0 0 0 0 0 0 ]')).toBe(true)
    expect(constant(':constisnull false :constvalue 1 [ 0 0 0 0 0 0 0 0 ]')).toBe(false)
    expect(constant(':constisnull true :constvalue <>')).toBe(null)
    expect(constant(':constisnull false :constvalue <>')).toBe(undefined)
  })

  test.each([
    '',
    '{',
    '{VAR :varno',
    '{VAR varno 1}',
    '{VAR :varno 1} {VAR :varno 1}',
    '(1 2',
    '{VAR :a 1 :a 2}',
    ')',
  ])('returns nothing for %s', (text) => {
    expect(parseStoredExpression(text)).toBe(undefined)
  })
})
