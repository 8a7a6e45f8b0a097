import { describe, expect, test } from 'vitest'
import { parseColumnTags } from './column-tags.ts'

describe('parseColumnTags', () => {
  test.each([
    [undefined, { isLabel: false }],
    ['Full name. @label', { isLabel: true }],
    ['Home address. @personal', { isLabel: false, isPersonal: true }],
    ['@color', { isLabel: false, format: 'color' }],
    ['Home page. @url @label', { isLabel: true, format: 'url' }],
    ['@email\nOf the office.', { isLabel: false, format: 'email' }],
    ['@file avatars and more', { isLabel: false, format: 'file', bucket: 'avatars' }],
    ['Text.\n@markdown', { isLabel: false, format: 'markdown' }],
  ])('reads %j', (comment, tags) => {
    expect(parseColumnTags(comment)).toEqual({ isPersonal: false, ...tags })
  })

  test.each([
    '@file',
    '@file Upper',
    '@file a/b',
    '@file */alert(1)',
    `@file ${'a'.repeat(64)}`,
    '@colour',
    'me@color',
    '@color.',
    '@@url',
  ])('ignores the invalid tag %j', (comment) => {
    expect(parseColumnTags(comment)).toEqual({ isLabel: false, isPersonal: false })
  })

  test('ignores a file without a bucket, and takes the first of several formats', () => {
    expect(parseColumnTags('@file\n@url @color')).toEqual({
      ...{ isLabel: false, isPersonal: false },
      format: 'url',
    })
  })
})
