import { rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createDirectory, startServer } from './server.ts'

/** Measures how long another client waits for `/health` while 2,000 requests are pipelined on each of some connections. */
const connections = Number(process.argv[2] ?? 4)
const requests = 2000
const seconds = 10

const directory = createDirectory()
const server = await startServer(directory, { BASALT_AUTH_ENABLED: 'false' })
const { port } = new URL(server.url)
const agent = new Agent({ keepAlive: true })

async function requestHealth(): Promise<{
  readonly ms: number
  readonly body: string
  readonly status: number
}> {
  const startedAt = performance.now()
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${server.url}/health`, { agent }, resolve).once('error', reject)
  })
  const body = String(await buffer(answer))
  return { ms: performance.now() - startedAt, body, status: answer.statusCode ?? 0 }
}

function flood(): () => void {
  const socket = connect(Number(port), '127.0.0.1')
  const text = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests)
  const send = () => socket.write(text)
  socket.on('error', () => undefined)
  socket.on('drain', send)
  socket.once('connect', send)
  socket.resume()
  return () => socket.destroy()
}

try {
  await requestHealth()
  const ends = Array.from({ length: connections }, flood)
  const answers: Awaited<ReturnType<typeof requestHealth>>[] = []
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    answers.push(await requestHealth())
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  for (const end of ends) end()
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]?.toFixed(1)
  const wrong = answers.filter(({ status }) => status !== 200)
  console.log(
    `${connections} connections that send ${requests} requests ahead: /health ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ${at(1)} ms at most; ${wrong.length} of ${answers.length} not 200 ${wrong[0]?.body ?? ''}`,
  )
} finally {
  agent.destroy()
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
