import { describe, expect, test } from 'vitest'
import { encodeFrame, FrameReader, frameLimit } from './frames.ts'

function read(...chunks: readonly Buffer[]): unknown[] {
  const messages: unknown[] = []
  const reader = new FrameReader((message) => messages.push(message))
  for (const chunk of chunks) reader.push(chunk)
  return messages
}

describe('FrameReader', () => {
  const bytes = Buffer.concat([encodeFrame({ a: 'é' }), encodeFrame({}), encodeFrame({ b: [1, null] })])
  const messages = [{ a: 'é' }, {}, { b: [1, null] }]

  test('reads frames, however the stream divides them', () => {
    expect(read(bytes)).toEqual(messages)
    expect(read(...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(messages)
    for (let size = 2; size < bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      expect(read(...chunks)).toEqual(messages)
    }
  })

  test('keeps an incomplete frame', () => {
    expect(read(bytes.subarray(0, -1))).toEqual(messages.slice(0, 2))
  })

  test('rejects a frame that is too long by its length alone', () => {
    const head = Buffer.alloc(4)
    head.writeUInt32BE(frameLimit + 1)
    expect(() => read(head)).toThrow('a frame announces 16777217 bytes; the limit is 16777216')
  })

  test('rejects what is not JSON', () => {
    expect(() => read(Buffer.from([0, 0, 0, 1, 0x7b]))).toThrow(SyntaxError)
    expect(() => read(Buffer.from([0, 0, 0, 0]))).toThrow(SyntaxError)
  })
})

test('encodeFrame › rejects a message that is too long', () => {
  expect(() => encodeFrame({ text: 'x'.repeat(frameLimit) })).toThrow('a message has 16777227 bytes')
})
