import { cases } from './cases.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'

/**
 * Sends one case over keep-alive connections, one request at a time on each, and prints the rate as JSON.
 *
 * argv: URL, token, case, connections, seconds
 */
const [, , url = '', token = '', name = '', connections = '', seconds = ''] = process.argv
const target = new URL(url)
const benchCase = cases.find((candidate) => candidate.name === name)
if (benchCase === undefined) throw new Error(`no case ${name}`)

const requests = Array.from({ length: 1000 }, (_, n) => renderRequest(target, token, benchCase.request(n)))
let sent = 0
let answered = 0
let isOver = false

for (let index = 0; index < Number(connections); index += 1) {
  const connection = new RawConnection(target)
  const send = () => connection.send(requests[sent++ % requests.length] ?? Buffer.alloc(0), receive)
  const receive = () => {
    answered += 1
    if (!isOver) send()
  }
  send()
}

const startedAt = performance.now()
setTimeout(() => {
  isOver = true
  const rate = (answered / (performance.now() - startedAt)) * 1000
  process.stdout.write(`${JSON.stringify({ rate, cpuMicros: cpuMicros() / answered })}\n`)
  process.exit(0)
}, Number(seconds) * 1000)

function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
