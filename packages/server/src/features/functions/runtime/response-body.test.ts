import { expect, test, vi } from 'vitest'
import { ResponseBody, windowBytes } from './response-body.ts'

function open(options: { readonly length?: number; readonly idleMs?: number } = {}) {
  const grants: number[] = []
  const ends: (string | undefined)[] = []
  const body = new ResponseBody({
    idleMs: options.idleMs ?? 60_000,
    length: options.length,
    grant: (bytes) => grants.push(bytes),
    onEnd: (error) => ends.push(error?.message),
  })
  const total = () => grants.reduce((sum, bytes) => sum + bytes, 0)
  return { body, ends, total }
}

const ended = (body: ResponseBody) => new Promise((resolve) => body.once('close', resolve))

test('body of a response › grants no more than its window to a client that reads nothing', async () => {
  const { body, total } = open()
  body.read(0)
  let sent = 0
  for (let count = 0; count < 100 && sent < total(); count += 1) {
    const size = Math.min(1000, total() - sent)
    body.receive(Buffer.alloc(size))
    sent += size
    await new Promise(setImmediate)
  }
  while (sent < total()) {
    body.receive(Buffer.alloc(total() - sent))
    sent = total()
    await new Promise(setImmediate)
  }
  expect(total()).toBeLessThanOrEqual(windowBytes * 1.25)
  body.destroy()
})

test('body of a response › grants further bytes as the client reads', async () => {
  const { body, total } = open()
  const size = 10 * 1024 * 1024
  let sent = 0
  let read = 0
  body.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  while (sent < size) {
    await new Promise(setImmediate)
    const bytes = Math.min(total() - sent, size - sent)
    // Its reader has read everything, so it has granted something.
    expect(bytes).toBeGreaterThan(0)
    for (let rest = bytes; rest > 0; rest -= 5000) body.receive(Buffer.alloc(Math.min(rest, 5000)))
    sent += bytes
    expect(total() - read).toBeLessThanOrEqual(windowBytes * 1.25)
  }
  body.finish()
  await ended(body)
  expect(read).toBe(size)
})

test.each([
  ['bytes that were not granted', {}, [windowBytes + 1], /not granted/],
  ['an empty chunk', {}, [0], /not granted/],
  ['more bytes than its head promises', { length: 3 }, [2, 2], /more bytes than its Content-Length of 3/],
])('body of a response › is cut by %s', async (_name, options, sizes, reason) => {
  const { body, ends } = open(options)
  body.read(0)
  for (const size of sizes) body.receive(Buffer.alloc(size))
  await ended(body)
  expect(ends).toEqual([expect.stringMatching(reason)])
})

test('body of a response › is cut by an end before the bytes that its head promises', async () => {
  const { body, ends } = open({ length: 3 })
  body.read(0)
  body.receive(Buffer.alloc(2))
  body.finish()
  await ended(body)
  expect(ends).toEqual([expect.stringMatching(/has 2 bytes; its Content-Length is 3/)])
})

test('body of a response › joins tiny chunks that wait for the client, in their order', async () => {
  const { body } = open()
  body.read(0)
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  for (const [index, byte] of sent.entries()) {
    body.receive(Buffer.of(byte))
    if (index % 1000 === 0) await new Promise(setImmediate)
  }
  body.finish()
  const received: Buffer[] = []
  body.on('data', (chunk: Buffer) => received.push(chunk))
  await ended(body)
  expect(Buffer.concat(received).equals(sent)).toBe(true)
  expect(received.length).toBeLessThan(20)
})

test('body of a response › delivers a tiny chunk that was joined, without a further one', async () => {
  const { body } = open()
  body.read(0)
  body.receive(Buffer.from('a'))
  await new Promise(setImmediate)
  body.receive(Buffer.from('b'))
  const received: string[] = []
  body.on('data', (chunk: Buffer) => received.push(chunk.toString()))
  while (received.join('') !== 'ab') await new Promise(setImmediate)
  body.destroy()
})

test('body of a response › is not cut while its client reads slowly', () => {
  vi.useFakeTimers()
  try {
    const { body, ends } = open({ idleMs: 100 })
    body.read(0)
    body.receive(Buffer.alloc(100_000))
    for (let count = 0; count < 5; count += 1) {
      vi.advanceTimersByTime(60)
      expect(body.read(1000)).toHaveLength(1000)
    }
    expect(ends).toEqual([])
    body.destroy()
  } finally {
    vi.useRealTimers()
  }
})

test('body of a response › is cut without bytes, and names the silent side', async () => {
  const ofFunction = open({ idleMs: 5 })
  ofFunction.body.read(0)
  const ofClient = open({ idleMs: 5 })
  await Promise.all([ended(ofFunction.body), ended(ofClient.body)])
  expect([...ofFunction.ends, ...ofClient.ends]).toEqual([
    'the function has sent nothing for 0.005 s',
    'the client has read nothing for 0.005 s',
  ])
})
