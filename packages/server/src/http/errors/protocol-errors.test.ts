import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openRaw, parseRaw } from '../../../test/raw-http.ts'
import { answerClientError } from './protocol-errors.ts'

test('protocol errors › writes nothing into a response that has begun', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('part')
  })
  server.on('clientError', (error, socket) => answerClientError(error, socket as Socket, {}, 'http://docs'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = openRaw(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(client.socket, 'data')
  client.write('garbage\r\n\r\n')
  const { text } = await client.ended
  server.close()
  expect(parseRaw(text)).toMatchObject({ status: 200, body: 'part' })
})
