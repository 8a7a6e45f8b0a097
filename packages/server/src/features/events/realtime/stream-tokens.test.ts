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

/** A stream whose token is looked up in a database that answers when the test says so. */
function openStream() {
  const lookUps: PromiseWithResolvers<Verdict>[] = []
  const sent: string[] = []
  const transport: Transport = {
    name: 'ws',
    frame: (_id, body) => body,
    send: (frames) => void sent.push(...frames),
    gap: () => undefined,
    heartbeat: () => undefined,
    pendingBytes: 0,
    drained: async () => undefined,
    end: () => undefined,
  }
  const tokens = new StreamTokens(() => {
    const lookUp = Promise.withResolvers<Verdict>()
    lookUps.push(lookUp)
    return lookUp.promise
  })
  const keeper = { onEnd: () => undefined, mayReceive: (stream: Stream) => tokens.mayReceive(stream) }
  const listener = { scope: { kind: 'unrestricted' }, userId: undefined, token: 'token' } as const
  const stream = new Stream(transport, listener, '127.0.0.1', keeper)
  stream.admit()
  return { lookUps, sent, tokens, stream }
}

test('realtime › a token that is found valid releases what waited', async () => {
  const { stream, lookUps, sent } = openStream()
  stream.send(['one'])
  expect(sent).toEqual([])
  lookUps[0]?.resolve(valid)
  await vi.waitFor(() => expect(sent).toEqual(['one']))
})

test('realtime › before an action a late answer counts for nothing: the token is looked up again', async () => {
  const { stream, lookUps, sent, tokens } = openStream()
  stream.send(['one'])
  const verified = tokens.verifyAgain(stream)
  vi.advanceTimersByTime(1001)
  for (const { resolve } of lookUps) resolve(valid)
  await vi.waitFor(() => expect(lookUps).toHaveLength(3))
  expect(sent).toEqual([])
  lookUps[2]?.resolve(invalid)
  await verified
  expect([sent, stream.ending]).toEqual([[], 'session_ended'])
})

test('realtime › a token that a late answer finds invalid ends the stream', async () => {
  const { stream, lookUps, tokens } = openStream()
  const verified = tokens.verifyAgain(stream)
  vi.advanceTimersByTime(5000)
  lookUps[0]?.resolve(invalid)
  await verified
  expect(stream.ending).toBe('session_ended')
})
