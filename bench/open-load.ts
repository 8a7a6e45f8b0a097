import { cases } from './cases.ts'
import { runOpenLoop } from './open-loop.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'

/**
 * Sends one case over HTTP at a fixed rate and prints the latencies as JSON.
 *
 * argv: URL, token, case, connections, seconds, rate
 */
const [, , url = '', token = '', name = '', connections = '', seconds = '', rate = ''] = process.argv
const target = new URL(url)
const benchCase = cases.find((candidate) => candidate.name === name)
if (benchCase === undefined) throw new Error(`no case ${name}`)

const requests = Array.from({ length: 1000 }, (_, n) => renderRequest(target, token, benchCase.request(n)))
const open = Array.from({ length: Number(connections) }, () => new RawConnection(target))
const latencies = await runOpenLoop({
  rate: Number(rate),
  seconds: Number(seconds),
  connections: open.map(
    (connection) => (index: number, receive: () => void) =>
      connection.send(requests[index % requests.length] ?? Buffer.alloc(0), receive),
  ),
})
process.stdout.write(`${JSON.stringify(latencies)}\n`)
process.exit(0)
