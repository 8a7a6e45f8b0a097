import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * Opens event streams, reports when all have begun, and then counts messages. It uses raw sockets, because a full
 * client would need more of the machine than the measured server. Each line on standard input gets a line of JSON:
 * messages since the last line, and the milliseconds that some of them took from writer to reader.
 *
 * argv: URL, table, streams. The first line of standard input has the tokens, separated by blanks.
 */
const [, , url = '', table = '', streams = ''] = process.argv
const target = new URL(url)
const mark = Buffer.from('\ndata: {"action"')
let begun = 0
let messages = 0
let latencies: number[] = []

function open(token: string): void {
  const socket = connect({
    host: target.hostname,
    port: Number(target.port),
    onread: {
      buffer: Buffer.allocUnsafe(1 << 18),
      callback(length, buffer) {
        read((buffer as Buffer).subarray(0, length))
        return true
      },
    },
  })
  socket.on('error', (error) => {
    throw error
  })
  socket.on('close', () => {
    throw new Error('a stream ended')
  })
  socket.write(
    `GET /api/realtime?tables=${table} HTTP/1.1\r\nHost: ${target.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
}

function read(chunk: Buffer): void {
  if (begun < Number(streams) && chunk.includes('event: connected')) {
    begun += 1
    if (begun === Number(streams)) process.stdout.write('"begun"\n')
  }
  let offset = chunk.indexOf(mark)
  if (offset === -1) return
  const sent = /"sent":(\d+)/.exec(chunk.toString('latin1', offset, offset + 300))?.[1]
  if (sent !== undefined) latencies.push(Date.now() - Number(sent))
  for (; offset !== -1; offset = chunk.indexOf(mark, offset + mark.length)) messages += 1
}

let tokens: readonly string[] | undefined
createInterface(process.stdin).on('line', (line) => {
  if (tokens === undefined) {
    tokens = line.trim().split(' ')
    for (let index = 0; index < Number(streams); index += 1) open(tokens[index % tokens.length] ?? '')
    return
  }
  process.stdout.write(`${JSON.stringify({ messages, latencies })}\n`)
  messages = 0
  latencies = []
})
