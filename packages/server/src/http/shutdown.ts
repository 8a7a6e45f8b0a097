import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Time for clients to send one more request on their open connections, and for load balancers to poll /health.
 */
const drainMs = 1000
/** Time for the first request on a connection that was made just before the server closed. */
const lastRequestMs = 500
/** Longest time between two connections of a client that reconnects for each request. */
const quietMs = 100
const pollMs = 20
const idleSweepMs = 100

/** Tracks the open connections. */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

/**
 * Moves clients to other nodes without failing a request. From now on every response ends its connection.
 * Clients so learn it from a response, and not from a reset while their next request is in flight. After a
 * moment the server accepts no more connections. `close` of the server would also reset those whose first
 * request is still on its way.
 */
export async function drainConnections(server: Server, connections: ReadonlySet<Socket>): Promise<void> {
  endConnectionsByResponses(server)
  await untilNoConnection(connections, drainMs)
  await untilBacklogEmpty(server)
  NetServer.prototype.close.call(server)
  await untilNoConnection(connections, lastRequestMs)
}

/**
 * Moves clients to processes that accept connections from the same socket. This one accepts none any more, so a
 * client that reconnects reaches one of them. Streams end later than connections, because a stream that is opened on
 * a connection of before would be refused.
 *
 * @param endStreams ends streams and refuses others
 */
export async function handOverConnections(
  server: Server,
  connections: ReadonlySet<Socket>,
  endStreams: () => void,
): Promise<void> {
  endConnectionsByResponses(server)
  NetServer.prototype.close.call(server)
  await untilNoConnection(connections, drainMs)
  endStreams()
  await untilNoConnection(connections, lastRequestMs)
}

function endConnectionsByResponses(server: Server): void {
  server.prependListener('request', (_request, response) => {
    response.setHeader('connection', 'close')
  })
}

/**
 * Stops accepting connections and lets requests in flight finish. Node alone would wait for connections without
 * a whole request, such as those that browsers open in advance.
 *
 * @param close closes the server
 * @param timeoutSeconds after which requests in flight are aborted
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

/**
 * Returns true if the connection has no response in flight. Node uses this member for the same purpose; its
 * types do not list it.
 */
function isIdle(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage === null || socket._httpMessage === undefined
}

/**
 * Waits until the accept backlog is empty. Closing would reset the connections that the system has made and the
 * server has not accepted. As libuv accepts one per iteration of the event loop, an iteration without one means
 * that none is left.
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

/** Waits until no connection has been open for a while. It returns at once if there was none. */
async function untilNoConnection(connections: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let quietSince = Number.NEGATIVE_INFINITY
  for (;;) {
    const now = performance.now()
    if (connections.size > 0) quietSince = now + pollMs
    if (now >= deadline || now - quietSince >= quietMs) return
    await delay(pollMs)
  }
}
