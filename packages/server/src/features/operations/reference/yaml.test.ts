import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatYaml } from './yaml.ts'

describe('YAML of a document', () => {
  test('is in block style, with the scalars of JSON', () => {
    const document = {
      openapi: '3.1.0',
      paths: {
        '/a/{id}': { get: { tags: ['a', 'b'], security: [], 'x-y': {}, on: null, deep: [[1, { a: true }]] } },
      },
    }
    expect(formatYaml(JSON.stringify(document))).toBe(`openapi: "3.1.0"
paths:
  "/a/{id}":
    get:
      tags:
        - "a"
        - "b"
      security: []
      x-y: {}
      "on": null
      deep:
        -
          - 1
          -
            a: true
`)
  })

  test.each(['1.2', '1.1'] as const)('is read by YAML %s as the same value', (version) => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const value = JSON.parse(json) as unknown
        expect(parse(formatYaml(json), { version, merge: false })).toEqual(value)
      }),
    )
    for (const text of [
      'no',
      'y',
      '',
      ' ',
      '-',
      '# a',
      'a: b',
      '\u2028',
      '\u0085',
      '\u007f',
      '🦊',
      '1e3',
      'e0',
      'E-12',
      '<<',
      '\n',
    ]) {
      const value = { [text]: [text, { [text]: text }] }
      expect(parse(formatYaml(JSON.stringify(value)), { version, merge: false })).toEqual(value)
    }
  })
})
