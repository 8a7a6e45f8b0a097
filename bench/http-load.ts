import { connect } from 'node:net'
import { type BenchRequest, cases } from './cases.ts'

/**
 * Sends one case over keep-alive connections, one request at a time on each, and prints the rate as JSON. Raw
 * sockets, because a full HTTP client would need more of the machine than the server it measures.
 *
 * argv: URL, token, case, connections, seconds
 */
const [, , url = '', token = '', name = '', connections = '', seconds = ''] = process.argv
const target = new URL(url)
const benchCase = cases.find((candidate) => candidate.name === name)
if (benchCase === undefined) throw new Error(`no case ${name}`)

const requests = Array.from({ length: 1000 }, (_, n) => Buffer.from(render(benchCase.request(n))))
let sent = 0
let answered = 0
let isOver = false

for (let index = 0; index < Number(connections); index += 1) openConnection()

const startedAt = performance.now()
setTimeout(() => {
  isOver = true
  const rate = (answered / (performance.now() - startedAt)) * 1000
  process.stdout.write(`${JSON.stringify({ rate, cpuMicros: cpuMicros() / answered })}\n`)
  process.exit(0)
}, Number(seconds) * 1000)

function openConnection(): void {
  /** Bytes of the response that are still to come; 0 between responses. */
  let missing = 0
  const socket = connect({
    host: target.hostname,
    port: Number(target.port),
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(1 << 20),
      callback(length, buffer) {
        if (missing === 0) missing = responseLength(buffer as Buffer, length)
        missing -= length
        if (missing === 0) {
          answered += 1
          if (!isOver) send()
        }
        return true
      },
    },
  })
  socket.on('error', (error) => {
    throw error
  })
  const send = () => socket.write(requests[sent++ % requests.length] ?? '')
  send()
}

function responseLength(buffer: Buffer, length: number): number {
  const headEnd = buffer.indexOf('\r\n\r\n')
  const head = buffer.toString('latin1', 0, headEnd)
  if (!/^HTTP\/1.1 20[01] /.test(head)) throw new Error(buffer.toString('utf8', 0, length))
  return headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
}

function render({ method, path, body }: BenchRequest): string {
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${target.host}`, `Authorization: Bearer ${token}`]
  if (body !== undefined)
    head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
