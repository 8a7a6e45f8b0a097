import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readLink, writeLink } from './link.ts'

describe('GraphiQL link', () => {
  test('returns the document and the variables that it was made of', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => value.trim() !== '')
    fc.assert(
      fc.property(text, fc.option(text, { nil: undefined }), (query, variables) => {
        const linked = { query, ...(variables === undefined ? {} : { variables }) }
        expect(readLink(writeLink(linked))).toEqual(linked)
      }),
    )
  })

  test('is empty without a document', () => {
    expect(writeLink({ query: ' \n', variables: '' })).toBe('')
    expect(readLink('')).toEqual({})
  })
})
