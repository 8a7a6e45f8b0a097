import { expect, test } from 'vitest'
import { decodeText, formatHex, isMarkup, parseHex, sniffPicture } from './bytes.ts'

const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'

test('dashboard › tables › bytes › round-trip through their text', () => {
  const bytes = new Uint8Array([0, 1, 127, 128, 255])
  expect([formatHex(bytes), parseHex('\\x00017f80ff')]).toEqual(['\\x00017f80ff', bytes])
})

test.each([
  ['\\x89504e470d0a1a0a00', 'image/png'],
  ['\\xffd8ffe0', 'image/jpeg'],
  ['\\x474946383961', 'image/gif'],
  ['\\x524946460000000057454250', 'image/webp'],
  ['\\x0000001c6674797061766966', 'image/avif'],
  ['\\x00', undefined],
  [formatHex(new TextEncoder().encode(svg)), undefined],
])('dashboard › tables › bytes › shows %s as %s', (hex, type) => {
  expect(sniffPicture(parseHex(hex))).toBe(type)
})

test('dashboard › tables › bytes › recognizes markup, which is shown without running it', () => {
  expect([isMarkup(svg), isMarkup(' <!DOCTYPE html>'), isMarkup('plain')]).toEqual([true, true, false])
  expect([
    decodeText(new TextEncoder().encode('ü')),
    decodeText(new Uint8Array([0xff])),
    decodeText(new Uint8Array([0])),
  ]).toEqual(['ü', undefined, undefined])
})
