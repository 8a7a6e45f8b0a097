import { describe, expect, test } from 'vitest'
import { contentDisposition, isSafeInline } from './disposition.ts'

describe('content disposition', () => {
  test.each([
    ['a.txt', 'attachment; filename="a.txt"'],
    ['a b;c.txt', 'attachment; filename="a b;c.txt"'],
    ['"quoted"\\.txt', `attachment; filename="_quoted__.txt"; filename*=UTF-8''%22quoted%22%5C.txt`],
    ['50%41.txt', `attachment; filename="50_41.txt"; filename*=UTF-8''50%2541.txt`],
    ['Größe.txt', `attachment; filename="Gr__e.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt`],
    ["it's(1)*é", `attachment; filename="it's(1)*_"; filename*=UTF-8''it%27s%281%29%2A%C3%A9`],
    ['x\r\ny', `attachment; filename="x__y"; filename*=UTF-8''x%0D%0Ay`],
  ])('formats %j', (name, header) => {
    expect(contentDisposition('attachment', name)).toBe(header)
  })

  test.each([
    ['image/png', true],
    ['text/plain; charset=utf-8', true],
    ['video/mp4', true],
    ['text/html', false],
    ['image/svg+xml', false],
    ['application/pdf', false],
    ['text/plainx', false],
    ['application/octet-stream', false],
  ])('shows %s inline: %s', (type, isSafe) => {
    expect(isSafeInline(type)).toBe(isSafe)
  })
})
