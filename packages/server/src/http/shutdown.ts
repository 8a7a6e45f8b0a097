import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** Time clients have to send one more request on their open connections, and load balancers to look at /health. */
const drainMs = 1000
/** Time the request has to arrive for which a connection was made just before the server closed. */
const lastRequestMs = 500
/** Clients that reconnect for each request are between two connections for less than this. */
const quietMs = 100
const lookMs = 20
const idleSweepMs = 100

/** The connections that are open. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

/**
 * Sends the clients elsewhere without failing a request. From now on every answer ends its connection, so that
 * clients learn it from an answer, and not from a reset while their next request is on its way. After a moment no
 * more connections are taken; `close` of the server would also reset those whose first request is still coming.
 */
export async function drainConnections(server: Server, connections: ReadonlySet<Socket>): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close')
  })
  await untilNoConnection(connections, drainMs)
  await untilBacklogEmpty(server)
  NetServer.prototype.close.call(server)
  await untilNoConnection(connections, lastRequestMs)
}

/**
 * Takes no more connections and lets requests in flight finish. Node would wait for connections that have never
 * sent a whole request, such as those that browsers open in advance.
 *
 * @param close closes the server
 * @param timeoutSeconds after which requests in flight are cut off
 */
export async function closeServer(
  server: Server,
  connections: ReadonlySet<Socket>,
  close: () => Promise<void>,
  timeoutSeconds: number,
): Promise<void> {
  const cutOff = setTimeout(() => server.closeAllConnections(), timeoutSeconds * 1000)
  const sweep = setInterval(() => {
    for (const socket of connections) if (isIdle(socket)) socket.destroy()
  }, idleSweepMs)
  await close()
  clearTimeout(cutOff)
  clearInterval(sweep)
}

/** Node keeps the response in flight there, and uses it for the same purpose; its types do not list it. */
function isIdle(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage === null || socket._httpMessage === undefined
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
async function untilNoConnection(connections: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let quietSince = Number.NEGATIVE_INFINITY
  for (;;) {
    const now = performance.now()
    if (connections.size > 0) quietSince = now + lookMs
    if (now >= deadline || now - quietSince >= quietMs) return
    await delay(lookMs)
  }
}
