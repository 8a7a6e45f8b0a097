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
  const sent: string[] = []
  const token = { isValid: true }
  const transport: Transport = {
    name: 'sse',
    frame: (_id, { body }) => body,
    send: (frames) => void sent.push(...frames),
    gap: (id) => void gaps.push(id),
    heartbeat: () => undefined,
    pendingBytes: 0,
    drained: async () => undefined,
    end: () => undefined,
  }
  const listener = { scope: { kind: 'unrestricted' }, userId: undefined, token: undefined } as const
  const owner = { onEnd: () => undefined, mayReceive: () => token.isValid }
  const stream = new Stream(transport, listener, '127.0.0.1', owner)
  stream.admit()
  return { gaps, sent, token, stream }
}

test('realtime › stream › sends one gap a second however many there are, and does not lose the last one', () => {
  const { stream, gaps } = openStream()
  for (let count = 0; count < 100; count += 1) stream.gap(position)
  expect(gaps).toEqual([formatPosition(position)])
  // A client that resumes meanwhile must not skip the pending gap.
  expect(stream.isCertain).toBe(false)
  vi.advanceTimersByTime(1000)
  expect(gaps).toEqual([formatPosition(position), undefined])
  expect(stream.isCertain).toBe(true)
})

test('realtime › stream › sends no gap after its end', () => {
  const { stream, gaps } = openStream()
  stream.gap(position)
  stream.gap(position)
  stream.disconnect()
  vi.advanceTimersByTime(5000)
  expect(gaps).toHaveLength(1)
})

test('realtime › stream › sends nothing while the token is unverified, and then everything in order', () => {
  const { stream, gaps, sent, token } = openStream()
  token.isValid = false
  stream.send(['one'])
  stream.gap(position)
  token.isValid = true
  stream.send(['two'])
  expect([sent, gaps, stream.isUpToDate]).toEqual([[], [], false])
  stream.release()
  expect([sent, gaps, stream.isUpToDate]).toEqual([['one', 'two'], [formatPosition(position)], true])
})

test('realtime › stream › discards held frames when the token turns out to be invalid', () => {
  const { stream, sent, token } = openStream()
  token.isValid = false
  stream.send(['one'])
  stream.end('session_ended')
  stream.release()
  expect(sent).toEqual([])
})

test('realtime › stream › ends when too much is held, so that the client resumes', () => {
  const { stream, token } = openStream()
  token.isValid = false
  for (let count = 0; count < 3; count += 1) stream.send(['x'.repeat(500_000)])
  expect(stream.ending).toBe('server_error')
})
