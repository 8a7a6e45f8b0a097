import { expect, test } from 'vitest'
import { chooseCoding } from './content-coding.ts'
import { matchesStrongTag, matchesTag, readHttpDate, readRange } from './partial-content.ts'

test.each([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0.5, gzip', 'gzip'],
  ['br;q=0, gzip;q=0', undefined],
  ['*', 'br'],
  ['*;q=0.1, br;q=0', 'gzip'],
  ['GZIP', 'gzip'],
  ['br;q=x', undefined],
])('content coding › for Accept-Encoding %s is %s', (header, coding) => {
  expect(chooseCoding(header, ['br', 'gzip'])).toBe(coding)
})

test.each([
  [undefined, false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['*', true],
  ['"b"', false],
  ['a', false],
])('entity tags › matches If-None-Match %s against "a": %s', (header, matches) => {
  expect(matchesTag(header, '"a"')).toBe(matches)
})

test.each([
  ['"a"', true],
  ['"b", "a"', true],
  ['*', true],
  ['W/"a"', false],
  ['', false],
])('entity tags › matches If-Match %s against "a": %s', (header, matches) => {
  expect(matchesStrongTag(header, '"a"')).toBe(matches)
})

test.each([
  ['Sun, 06 Nov 1994 08:49:37 GMT', 784_111_777],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 784_111_777],
  ['Sun Nov  6 08:49:37 1994', 784_111_777],
  ['Sun, 06 Nov 1994 08:49:37 +0100', undefined],
  ['Sun, 06 Nov 1994 28:49:37 GMT', undefined],
  ['2099', undefined],
  ['1', undefined],
  [undefined, undefined],
])('HTTP dates › parses %s as %j', (header, seconds) => {
  expect(readHttpDate(header)).toBe(seconds)
})

test.each([
  ['bytes=0-', null],
  ['bytes=-3', undefined],
  ['bytes=-0', null],
])('byte ranges › parses Range %s of an empty file as %j', (header, range) => {
  expect(readRange(header, 0)).toEqual(range)
})

test.each([
  [undefined, undefined],
  ['bytes=0-3', { start: 0, end: 3 }],
  ['bytes=4-', { start: 4, end: 9 }],
  ['bytes=-3', { start: 7, end: 9 }],
  ['bytes=-99', { start: 0, end: 9 }],
  ['bytes=5-99', { start: 5, end: 9 }],
  ['Bytes=4-5', { start: 4, end: 5 }],
  [`bytes=0-${'9'.repeat(400)}`, { start: 0, end: 9 }],
  [`bytes=-${'9'.repeat(20)}`, { start: 0, end: 9 }],
  [`bytes=${'9'.repeat(20)}-`, null],
  ['bytes=10-', null],
  ['bytes=-0', null],
  ['bytes=3-1', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=-', undefined],
  ['items=0-1', undefined],
])('byte ranges › parses Range %s of ten bytes as %j', (header, range) => {
  expect(readRange(header, 10)).toEqual(range)
})
