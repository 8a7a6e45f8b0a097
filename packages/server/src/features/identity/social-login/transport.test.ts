import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createOutbound } from '../../../http/outbound.ts'
import { createTransport } from './transport.ts'

const outbound = createOutbound({ allowsPrivate: () => true })

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a server that listens on a port has this form.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('social login › requests to providers', () => {
  test('time out without a response', async () => {
    await using server = await serve(() => undefined)
    const send = createTransport(outbound, undefined, 50)
    await expect(send(server.url)).rejects.toThrow('no complete answer within 0.05 s')
  })

  test('time out when the response trickles in', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    })
    const send = createTransport(outbound, undefined, 50)
    await expect(send(server.url)).rejects.toThrow('no complete answer')
  })

  test('end when the response is too long', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(200).end('x'.repeat(300_000))
    })
    await expect(createTransport(outbound)(server.url)).rejects.toThrow('the response is too long')
  })

  test('do not follow redirects', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    })
    expect((await createTransport(outbound)(server.url)).status).toBe(302)
  })

  test('do not reach metadata services', async () => {
    const send = createTransport(outbound)
    await expect(send('http://169.254.169.254/latest')).rejects.toThrow(
      'not one that requests may be sent to',
    )
  })

  test('name the address without its query, which may hold a secret', async () => {
    await using server = await serve((_request, response) => {
      response.destroy()
    })
    const failure = await createTransport(outbound)(`${server.url}?access_token=secret`).catch(String)
    expect(failure).toContain('/token: ')
    expect(failure).not.toContain('secret')
  })
})
