import type { Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** Time clients have to send one more request on their open connections, and load balancers to look at /health. */
const farewellMs = 1000
const lookMs = 20
/** Node closes idle connections when the server closes; those that become idle later are left to us. */
const idleSweepMs = 100

/**
 * Sends the clients elsewhere: from now on every answer ends its connection, so that they learn it from an answer
 * and not from a reset while their next request is on its way. Resolves when no connection is left, or after a
 * second.
 */
export async function seeOffClients(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close')
  })
  const deadline = performance.now() + farewellMs
  while (performance.now() < deadline && (await countConnections(server)) > 0) await delay(lookMs)
}

/**
 * Takes no more connections and lets requests under way finish.
 *
 * @param close closes the server
 * @param timeoutSeconds after which requests under way are cut off
 */
export async function closeServer(
  server: Server,
  close: () => Promise<void>,
  timeoutSeconds: number,
): Promise<void> {
  const cutOff = setTimeout(() => server.closeAllConnections(), timeoutSeconds * 1000)
  const sweep = setInterval(() => server.closeIdleConnections(), idleSweepMs)
  await close()
  clearTimeout(cutOff)
  clearInterval(sweep)
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)))
}
