/**
 * Compares the ways in which worker processes can share a port: how evenly connections spread, and the processor time a
 * request takes in parent and workers. Run it as `node bench/worker-ports.ts [RUNS]`.
 */

import { type ChildProcess, fork } from 'node:child_process'
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { connect, createServer as createNetServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

const host = '127.0.0.1'
const body = JSON.stringify({ items: Array.from({ length: 20 }, (_, id) => ({ id, title: `Title ${id}` })) })
const ways = ['one process', 'reusePort', 'cluster, round robin', 'cluster, none', 'handed over'] as const
type Way = (typeof ways)[number]
const shapes = [
  { connections: 200, requests: 200 },
  { connections: 16, requests: 2000 },
  { connections: 4000, requests: 1, atOnce: 200 },
]

interface Served {
  readonly requests: number
  readonly connections: number
  readonly microseconds: number
}

const role = process.env.PORTS_ROLE
if (role === 'worker') serve()
else if (role === 'parent') await parent()
else await compare()

/** Serves, and sends its counts on request. */
function serve(): void {
  let requests = 0
  let connections = 0
  let before = process.cpuUsage()
  const server = createServer((_request, response) => {
    requests += 1
    response.setHeader('content-type', 'application/json')
    response.end(body)
  })
  server.on('connection', () => (connections += 1))
  const listening = () => process.send?.({ port: (server.address() as { port: number }).port })
  const way = process.env.PORTS_WAY as Way
  if (way !== 'handed over')
    server.listen({ host, port: Number(process.env.PORTS_PORT), reusePort: way === 'reusePort' }, listening)
  else process.send?.({ port: 0 })
  process.on('message', (message, socket) => {
    if (message === 'connection') {
      server.emit('connection', socket)
      ;(socket as Socket).resume()
    } else if (message === 'begin') {
      requests = 0
      connections = 0
      before = process.cpuUsage()
    } else if (message === 'count') {
      const { user, system } = process.cpuUsage(before)
      process.send?.({ requests, connections, microseconds: user + system })
    } else process.exit()
  })
}

/** Starts two workers in the given way. The first message is the port, and the response to `count` the counts of all. */
async function parent(): Promise<void> {
  const way = process.env.PORTS_WAY as Way
  cluster.schedulingPolicy = way === 'cluster, none' ? cluster.SCHED_NONE : cluster.SCHED_RR
  const count = way === 'one process' ? 1 : 2
  const children: Pick<ChildProcess, 'on' | 'once' | 'send'>[] = []
  let port = 0
  let shared = 0
  for (let index = 0; index < count; index += 1) {
    const env = { ...process.env, PORTS_ROLE: 'worker', PORTS_PORT: String(port) }
    const child = way.startsWith('cluster')
      ? cluster.fork(env).process
      : fork(fileURLToPath(import.meta.url), { env })
    children.push(child)
    const first = await new Promise<{ port: number }>((resolve) => {
      child.on('message', function wait(message: { port?: number }) {
        if (typeof message.port === 'number') resolve({ port: message.port })
      })
    })
    // Workers of a cluster with port 0 get the same one.
    if (way.startsWith('cluster')) shared = first.port
    else port = first.port
  }
  if (way === 'handed over') {
    let next = 0
    const server = createNetServer({ pauseOnConnect: true }, (socket) => {
      next = (next + 1) % children.length
      children[next]?.send('connection', socket)
    })
    await new Promise<void>((resolve) => server.listen({ host, port: 0 }, resolve))
    port = (server.address() as { port: number }).port
  }
  process.send?.({ port: port || shared })
  let before = process.cpuUsage()
  process.on('message', async (message: string) => {
    if (message !== 'count') {
      for (const child of children) child.send(message)
      before = process.cpuUsage()
      if (message === 'end') process.exit()
      return
    }
    const workers = await Promise.all(
      children.map((child) => {
        const answer = new Promise<Served>((resolve) => {
          const take = (served: Served) => {
            if (typeof served.microseconds === 'number') resolve(served)
          }
          child.on('message', take)
        })
        child.send('count')
        return answer
      }),
    )
    const { user, system } = process.cpuUsage(before)
    process.send?.({ workers, parent: user + system })
  })
}

async function compare(): Promise<void> {
  const runs = Number(process.argv[2] ?? 5)
  const rows = []
  for (const shape of shapes) {
    const results = new Map<Way, { shares: number[]; parent: number[]; total: number[] }>()
    for (let run = 0; run < runs; run += 1) {
      // Runs alternate between the ways, so that all of them meet the same machine.
      for (const way of ways) {
        const { workers, parent } = await measure(way, shape)
        const requests = workers.reduce((sum, worker) => sum + worker.requests, 0)
        const result = results.get(way) ?? { shares: [], parent: [], total: [] }
        results.set(way, result)
        result.shares.push((100 * (workers[0]?.requests ?? 0)) / requests)
        result.parent.push(parent / requests)
        result.total.push((workers.reduce((sum, worker) => sum + worker.microseconds, 0) + parent) / requests)
      }
    }
    const base = median(results.get('one process')?.total ?? [])
    for (const [way, { shares, parent, total }] of results) {
      rows.push({
        connections: shape.connections,
        'requests each': shape.requests,
        way,
        'first worker, %': shares.map((share) => share.toFixed(0)).join(' '),
        'parent, µs': median(parent).toFixed(1),
        'all, µs': median(total).toFixed(1),
        ratio: (median(total) / base).toFixed(2),
      })
    }
  }
  console.table(rows)
}

async function measure(way: Way, shape: (typeof shapes)[number]) {
  const env = { ...process.env, PORTS_ROLE: 'parent', PORTS_WAY: way }
  const child = fork(fileURLToPath(import.meta.url), { env })
  const next = () => new Promise<never>((resolve) => child.once('message', resolve))
  const { port } = (await next()) as { port: number }
  // Compiled code, and connections that are not counted.
  await load(port, { connections: 40, requests: 100 })
  child.send('begin')
  await load(port, shape)
  child.send('count')
  const counts = (await next()) as { workers: Served[]; parent: number }
  child.send('end')
  await new Promise((resolve) => child.once('exit', resolve))
  return counts
}

async function load(
  port: number,
  shape: { connections: number; requests: number; atOnce?: number },
): Promise<void> {
  let left = shape.connections
  const lane = async () => {
    while (left > 0) {
      left -= 1
      await converse(port, shape.requests)
    }
  }
  await Promise.all(Array.from({ length: shape.atOnce ?? shape.connections }, lane))
}

/** Sends requests one after the other on a connection. */
function converse(port: number, requests: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const request = `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`
    let left = requests
    let received = ''
    socket.on('error', reject)
    socket.on('connect', () => socket.write(request))
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      received += text
      if (!received.endsWith(body)) return
      received = ''
      left -= 1
      if (left > 0) socket.write(request)
      else socket.end()
    })
    socket.on('close', () => resolve())
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
