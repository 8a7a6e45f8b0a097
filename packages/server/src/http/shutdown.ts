import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** Time clients have to send one more request on their open connections, and load balancers to look at /health. */
const farewellMs = 1000
/** Time the request has to arrive for which a connection was made just before the server closed. */
const lastRequestMs = 500
/** Clients that come back for each request are between two connections for less than this. */
const quietMs = 100
const lookMs = 20
/** Node closes idle connections when the server closes; those that become idle later are left to us. */
const idleSweepMs = 100

/**
 * Sends the clients elsewhere without failing a request. From now on every answer ends its connection, so that
 * clients learn it from an answer, and not from a reset while their next request is on its way. After a moment no
 * more connections are taken; `close` of the server would also reset those whose first request is still coming.
 */
export async function seeOffClients(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close')
  })
  await untilNoConnection(server, farewellMs)
  await untilBacklogEmpty(server)
  NetServer.prototype.close.call(server)
  await untilNoConnection(server, lastRequestMs)
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

/**
 * Closing resets the connections that the system has made and we have not taken yet. libuv takes one in each turn of
 * the event loop, so a turn without one means that there is none.
 */
async function untilBacklogEmpty(server: Server): Promise<void> {
  let taken = 0
  const count = () => {
    taken += 1
  }
  server.on('connection', count)
  const deadline = performance.now() + lastRequestMs
  let before: number
  do {
    before = taken
    await nextTurn()
  } while (taken > before && performance.now() < deadline)
  server.off('connection', count)
}

/** Until there has been no connection for a while, if there was one at all. */
async function untilNoConnection(server: Server, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let quietSince = Number.NEGATIVE_INFINITY
  for (;;) {
    const now = performance.now()
    if ((await countConnections(server)) > 0) quietSince = now + lookMs
    if (now >= deadline || now - quietSince >= quietMs) return
    await delay(lookMs)
  }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)))
}
