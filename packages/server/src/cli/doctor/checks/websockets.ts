import { createHash, randomBytes } from 'node:crypto'
import { type Check, failure, ok } from '../check.ts'
import { reasonOf, upgrade } from '../exchange.ts'

/** Value that the accepted handshake appends to the key (RFC 6455 §1.3). */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const fix =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";   # nginx, in location /api/realtime'

/** Check that the proxy passes WebSocket handshakes. */
export const websockets: Check = {
  id: 'websockets',
  async run({ publicAddress, signal }) {
    await publicAddress.requireServer()
    const key = randomBytes(16).toString('base64')
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    }
    let problem: string
    try {
      const { status, accept } = await upgrade(publicAddress.at('/api/realtime/ws'), headers, signal)
      if (
        status === 101 &&
        accept ===
          createHash('sha1')
            .update(key + guid)
            .digest('base64')
      )
        return [ok('websockets', 'a WebSocket opens')]
      problem =
        status === 101
          ? 'the handshake was accepted, but not by the server'
          : `the handshake was answered with ${status}`
    } catch (error) {
      problem = `the connection broke (${reasonOf(error)})`
    }
    return [failure('websockets', `a WebSocket does not open: ${problem}`, fix)]
  },
}
