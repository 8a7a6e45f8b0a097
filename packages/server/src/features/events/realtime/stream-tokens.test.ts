import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Identity, Verdict } from '../../../http/access/identity.ts'
import { Stream, type Transport } from './stream.ts'
import { StreamTokens } from './stream-tokens.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const valid: Verdict = { identity: { kind: 'user' } as Identity }
const invalid: Verdict = { refusal: 'invalid' }

/** Opens a stream. The test decides when the database responds to the lookup of its token. */
function openStream() {
  const lookups: PromiseWithResolvers<Verdict>[] = []
  const sent: string[] = []
  const transport: Transport = {
    name: 'ws',
    frame: (_id, { body }) => body,
    send: (frames) => void sent.push(...frames),
    gap: () => undefined,
    heartbeat: () => undefined,
    pendingBytes: 0,
    drained: async () => undefined,
    end: () => undefined,
  }
  const tokens = new StreamTokens(() => {
    const lookup = Promise.withResolvers<Verdict>()
    lookups.push(lookup)
    return lookup.promise
  })
  const owner = { onEnd: () => undefined, mayReceive: (stream: Stream) => tokens.mayReceive(stream) }
  const listener = { scope: { kind: 'unrestricted' }, userId: undefined, token: 'token' } as const
  const stream = new Stream(transport, listener, '127.0.0.1', owner)
  stream.admit()
  return { lookups, sent, tokens, stream }
}

test('realtime › stream token › releases held frames when it is found valid', async () => {
  const { stream, lookups, sent } = openStream()
  stream.send(['one'])
  expect(sent).toEqual([])
  lookups[0]?.resolve(valid)
  await vi.waitFor(() => expect(sent).toEqual(['one']))
})

test('realtime › stream token › is looked up again before a request if the response was late', async () => {
  const { stream, lookups, sent, tokens } = openStream()
  stream.send(['one'])
  const verified = tokens.verifyAgain(stream)
  vi.advanceTimersByTime(1001)
  for (const { resolve } of lookups) resolve(valid)
  await vi.waitFor(() => expect(lookups).toHaveLength(3))
  expect(sent).toEqual([])
  lookups[2]?.resolve(invalid)
  await verified
  expect([sent, stream.ending]).toEqual([[], 'session_ended'])
})

test('realtime › stream token › ends the stream when a late response finds it invalid', async () => {
  const { stream, lookups, tokens } = openStream()
  const verified = tokens.verifyAgain(stream)
  vi.advanceTimersByTime(5000)
  lookups[0]?.resolve(invalid)
  await verified
  expect(stream.ending).toBe('session_ended')
})
