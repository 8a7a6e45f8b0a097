import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { formatPosition } from './changes/position.ts'
import { Stream, type Transport } from './stream.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const position = { passed: '10:20:' }

function openStream() {
  const gaps: (string | undefined)[] = []
  const transport: Transport = {
    name: 'sse',
    frame: (_id, body) => body,
    send: () => undefined,
    gap: (id) => void gaps.push(id),
    heartbeat: () => undefined,
    pendingBytes: 0,
    drained: async () => undefined,
    end: () => undefined,
  }
  const listener = { scope: { kind: 'unrestricted' }, userId: undefined, token: undefined } as const
  return { gaps, stream: new Stream(transport, listener, '127.0.0.1', () => undefined) }
}

test('a stream sends one gap a second however many there are, and the last one is not lost', () => {
  const { stream, gaps } = openStream()
  for (let count = 0; count < 100; count += 1) stream.gap(position)
  expect(gaps).toEqual([formatPosition(position)])
  // A client that resumes meanwhile must not pass over the gap that waits.
  expect(stream.isCertain).toBe(false)
  vi.advanceTimersByTime(1000)
  expect(gaps).toEqual([formatPosition(position), undefined])
  expect(stream.isCertain).toBe(true)
})

test('a stream that ends sends no gap afterwards', () => {
  const { stream, gaps } = openStream()
  stream.gap(position)
  stream.gap(position)
  stream.leave()
  vi.advanceTimersByTime(5000)
  expect(gaps).toHaveLength(1)
})
