import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../lib/errors.ts'
import { openSlowBody } from './slow-body.ts'

const timedOut = () => new AppError('timed_out', 504, 'timed out')

function open(limits: { timeoutMs?: number; endsAfterIdleMs?: number }, payload = new PassThrough()) {
  // Only its identity counts.
  const socket = {} as Socket
  return { payload, body: openSlowBody({ socket, payload, timedOut, timeoutMs: 60_000, ...limits }) }
}

describe('slow body › of a reader that keeps the received part', () => {
  test('ends after the idle time', async () => {
    const { payload, body } = open({ endsAfterIdleMs: 20 })
    payload.write('half')
    expect(await text(body)).toBe('half')
  })

  test('ends when its time is up', async () => {
    const { payload, body } = open({ endsAfterIdleMs: 60_000, timeoutMs: 20 })
    payload.write('half')
    expect(await text(body)).toBe('half')
  })

  test('ends when the client disconnects', async () => {
    const { payload, body } = open({ endsAfterIdleMs: 60_000 })
    payload.write('half')
    payload.destroy()
    expect(await text(body)).toBe('half')
  })

  test('is empty when the client disconnected before it was opened', async () => {
    const payload = new PassThrough()
    payload.destroy()
    expect(await text(open({ endsAfterIdleMs: 60_000 }, payload).body)).toBe('')
  })
})

describe('slow body › of any other reader', () => {
  test('fails when its time is up', async () => {
    await expect(text(open({ timeoutMs: 20 }).body)).rejects.toThrow('timed out')
  })

  test('fails when the client disconnects, even before it was opened', async () => {
    const { payload, body } = open({})
    payload.destroy()
    await expect(text(body)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect(text(open({}, payload).body)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })
})
