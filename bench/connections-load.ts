import { readFileSync } from 'node:fs'
import { RawConnection, renderRequest } from './raw-connection.ts'

/**
 * Sends requests over keep-alive connections, one at a time on each, and prints the successful responses and the
 * rejections of the time as JSON. A rejected connection sends again at once, which is the harder case for the server.
 *
 * argv: URL, token, file of requests as JSON, connections, seconds, seconds of warm-up
 */
const [, , url = '', token = '', file = '', count = '', seconds = '', warmUp = ''] = process.argv
const target = new URL(url)
const requests = (JSON.parse(readFileSync(file, 'utf8')) as Parameters<typeof renderRequest>[2][]).map(
  (request) => renderRequest(target, token, request),
)
/** Number of connections opened at once, less than the port's backlog. */
const openedTogether = 200

const connections: RawConnection[] = []
while (connections.length < Number(count)) {
  const some = Array.from(
    { length: Math.min(openedTogether, Number(count) - connections.length) },
    () => new RawConnection(target, [200, 201, 503]),
  )
  // A server under load accepts one connection per iteration of its event loop. A response shows that it has.
  await Promise.all(some.map((connection) => sendNext(connection)))
  connections.push(...some)
}

let sent = 0
let refused = 0
let latencies: number[] = []
for (const connection of connections) {
  let sentAt = 0
  const send = () => {
    sentAt = performance.now()
    connection.send(requests[sent++ % requests.length] ?? Buffer.alloc(0), receive)
  }
  const receive = (_body: string, status: number) => {
    if (status === 503) refused += 1
    else latencies.push(performance.now() - sentAt)
    send()
  }
  send()
}

await wait(Number(warmUp))
latencies = []
refused = 0
const startedAt = performance.now()
const before = process.cpuUsage()
process.stdout.write('measuring\n')
await wait(Number(seconds))
const spent = performance.now() - startedAt
const { user, system } = process.cpuUsage(before)
const sorted = latencies.toSorted((one, other) => one - other)
process.stdout.write(
  `${JSON.stringify({
    good: sorted.length,
    refused,
    rate: (sorted.length / spent) * 1000,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    busy: (user + system) / 1000 / spent,
  })}\n`,
)
process.exit(0)

function sendNext(connection: RawConnection): Promise<void> {
  return new Promise((resolve) => connection.send(requests[0] ?? Buffer.alloc(0), () => resolve()))
}

function wait(duration: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration * 1000))
}
