import { cases } from './cases.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'

/**
 * Sends one case at a fixed rate, whether or not earlier requests are answered, and prints the latencies in milliseconds
 * as JSON. A latency counts from the moment at which the request should have been sent: what waits for a connection here
 * waits for the server as well (no coordinated omission).
 *
 * argv: URL, token, case, connections, seconds, rate
 */
const [, , url = '', token = '', name = '', connections = '', seconds = '', rate = ''] = process.argv
const target = new URL(url)
const benchCase = cases.find((candidate) => candidate.name === name)
if (benchCase === undefined) throw new Error(`no case ${name}`)

const requests = Array.from({ length: 1000 }, (_, n) => renderRequest(target, token, benchCase.request(n)))
const idle = Array.from({ length: Number(connections) }, () => new RawConnection(target))
const total = Math.floor(Number(rate) * Number(seconds))
/** Requests before these warm the server up. */
const warmUp = Math.floor(total / 5)
const latencies: number[] = []
const intervalMs = 1000 / Number(rate)
const startedAt = performance.now()
let sent = 0
let answered = 0

function sendDue(): void {
  const due = Math.min(total, Math.floor((performance.now() - startedAt) / intervalMs))
  while (sent < due) {
    const connection = idle.pop()
    if (connection === undefined) return
    const index = sent
    sent += 1
    connection.send(requests[index % requests.length] ?? Buffer.alloc(0), () => {
      if (index >= warmUp) latencies.push(performance.now() - (startedAt + index * intervalMs))
      idle.push(connection)
      answered += 1
      if (answered === total) finish()
      else sendDue()
    })
  }
}

const timer = setInterval(sendDue, 1)

function finish(): void {
  clearInterval(timer)
  latencies.sort((one, other) => one - other)
  const percentile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  process.stdout.write(
    `${JSON.stringify({ p50: percentile(0.5), p99: percentile(0.99), p999: percentile(0.999), max: latencies.at(-1) })}\n`,
  )
  process.exit(0)
}
