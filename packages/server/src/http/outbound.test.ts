import { createServer, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { accept, answer, type Receiver, type Respond, startReceiver } from '../../test/receiver.ts'
import { findFreePort } from '../../test/throw-away-cluster.ts'
import { createOutbound, type Outbound, type Resolve } from './outbound.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function receiver(respond: Respond = accept): Promise<Receiver> {
  const started = await startReceiver(respond)
  cleanUps.push(() => started[Symbol.asyncDispose]())
  return started
}

/** Starts a server that sends the given texts as soon as a client connects. */
async function rawServer(speak: (write: (text: string) => void) => void): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined)
    speak((text) => socket.write(text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
}

const open = createOutbound({ allowsPrivate: () => true })
const closed = createOutbound({ allowsPrivate: () => false })

function post(url: string, { by = open, timeoutMs = 5000 }: { by?: Outbound; timeoutMs?: number } = {}) {
  return by.post({ url, headers: { 'x-test': 'yes' }, body: '{"a":"ä"}', timeoutMs, replyLimit: 1000 })
}

/** Returns a resolver that returns the address lists in order, and the names of its calls. */
function names(...answers: readonly (readonly string[])[]): { resolve: Resolve; queried: string[] } {
  const queried: string[] = []
  return {
    queried,
    async resolve(hostname) {
      const addresses = answers[Math.min(queried.push(hostname), answers.length) - 1] ?? []
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    },
  }
}

const refused = { headers: {}, text: '', error: 'the address is not one that requests may be sent to' }

describe('outbound request', () => {
  test('sends the body as it is and reads the response', async () => {
    const target = await receiver(answer(418, { 'x-kind': 'pot' }, 'short and stout'))
    const reply = await post(target.url)
    expect(reply).toMatchObject({ status: 418, text: 'short and stout', headers: { 'x-kind': 'pot' } })
    expect(reply.error).toBeUndefined()
    expect(
      target.received.map(({ method, raw, headers }) => [method, raw.toString(), headers['x-test']]),
    ).toEqual([['POST', '{"a":"ä"}', 'yes']])
  })

  test('does not follow redirects', async () => {
    const other = await receiver()
    const target = await receiver(answer(302, { location: other.url }))
    expect(await post(target.url)).toMatchObject({ status: 302 })
    expect(other.received).toEqual([])
  })

  test('reads only the first `replyLimit` bytes of the response', async () => {
    const target = await receiver((response) => {
      const more = () => {
        while (response.write('x'.repeat(10_000))) if (response.destroyed) return
      }
      response.writeHead(200)
      response.on('drain', more)
      more()
    })
    expect(await post(target.url)).toMatchObject({ status: 200, text: 'x'.repeat(1000) })
  })

  test('replaces bytes that are not text', async () => {
    const target = await receiver((response) => response.end(Buffer.from([0x61, 0, 0xff, 0x62])))
    expect((await post(target.url)).text).toBe('a\ufffd\ufffdb')
  })

  test.each([
    ['that answers nothing', () => undefined],
    ['that stops in its head', (write: (text: string) => void) => write('HTTP/1.1 200 OK\r\nx-a: ')],
    [
      'that drips its body',
      (write: (text: string) => void) => {
        write('HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n')
        const timer = setInterval(() => write('x'), 20)
        cleanUps.push(() => clearInterval(timer))
      },
    ],
  ] as const)('ends in time with a server %s', async (_what, speak) => {
    const url = await rawServer(speak)
    expect((await post(url, { timeoutMs: 300 })).error).toBe('no complete answer within 0.3 s')
  })

  test('ends in time when the resolver does not respond', async () => {
    const by = createOutbound({ allowsPrivate: () => true, resolve: () => new Promise(() => undefined) })
    const reply = await post('http://silent.example/', { by, timeoutMs: 100 })
    expect(reply).toEqual({ headers: {}, text: '', error: 'no complete answer within 0.1 s' })
  })

  test.each([
    ['no server listens', async () => `http://127.0.0.1:${await findFreePort()}/`, 'the connection failed'],
    [
      'something else listens',
      () => rawServer((write) => write('220 mail ready\r\n')),
      'the connection failed',
    ],
    [
      'TLS is not spoken',
      async () => (await receiver()).url.replace('http:', 'https:'),
      'no secure connection: TLS or certificate refused',
    ],
    ['the name has no address', async () => 'http://nowhere.invalid/', 'the host name was not found'],
  ])('discloses nothing more where %s', async (_what, url, error) => {
    const resolve: Resolve = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND nowhere.invalid'), { code: 'ENOTFOUND' })
    }
    const by = createOutbound({ allowsPrivate: () => true, resolve })
    expect(await post(await url(), { by })).toEqual({ headers: {}, text: '', error })
  })
})

describe('outbound request to a forbidden address', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://10.0.0.1/',
    'http://[fd12::1]/',
  ])('refuses %s unless private addresses are allowed', async (url) => {
    expect(await post(url, { by: closed })).toEqual(refused)
    expect([closed.refuses(url), open.refuses(url)]).toEqual([true, false])
  })

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/',
    'http://[fe80::1]/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
  ])('always refuses %s', async (url) => {
    expect(await post(url)).toEqual(refused)
    expect(open.refuses(url)).toBe(true)
  })

  test('detects the address of a host name and does not connect', async () => {
    const target = await receiver()
    const { port } = new URL(target.url)
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1']) {
      const { resolve, queried } = names([address])
      const by = createOutbound({ allowsPrivate: () => false, resolve })
      expect(await post(`http://innocent.example:${port}/`, { by })).toEqual(refused)
      expect(queried).toEqual(['innocent.example'])
    }
    expect(target.received).toEqual([])
  })

  test('does not follow a host name that changes its address', async () => {
    const target = await receiver()
    const { port } = new URL(target.url)
    // A check before connecting sees only the first address.
    const { resolve, queried } = names(['203.0.113.1'], ['127.0.0.1'])
    const by = createOutbound({ allowsPrivate: () => false, resolve })
    expect(by.refuses(`http://rebinding.example:${port}/`)).toBe(false)
    expect(await post(`http://rebinding.example:${port}/`, { by })).toEqual(refused)
    expect(await post(`http://rebinding.example:${port}/`, { by })).toEqual(refused)
    expect([queried.length, target.received]).toEqual([2, []])
  })

  test('skips the address where the host name has several', async () => {
    const target = await receiver()
    const { port } = new URL(target.url)
    const { resolve } = names(['169.254.169.254', '127.0.0.1'])
    const by = createOutbound({ allowsPrivate: () => true, resolve })
    expect(await post(`http://several.example:${port}/`, { by })).toMatchObject({ status: 204 })
    expect(target.received).toHaveLength(1)
  })
})
