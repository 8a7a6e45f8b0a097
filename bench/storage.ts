import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import fastify from 'fastify'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures files: downloads of 1 MB against @fastify/static, uploads against writing to the disk, and the memory of ten
 * large uploads and downloads. `node bench/storage.ts [megabytes of a large file]`
 */
const largeMegabytes = Number(process.argv[2] ?? 1000)
const megabyte = 1024 * 1024
const downloads = 600
const uploads = 40
const uploadMegabytes = 16
const clients = 10

const directory = createDirectory()
const server = await startServer(directory, {
  BASALT_STORAGE_MAX_FILE_SIZE: String(largeMegabytes * megabyte),
  BASALT_SERVER_REQUEST_TIMEOUT: '600',
})

/** Returns the seconds of the work when so many clients share it. */
async function timed(count: number, work: (index: number) => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < count) await work(next++)
    }),
  )
  return (performance.now() - startedAt) / 1000
}

async function drain(response: Response): Promise<number> {
  if (!response.ok || response.body === null) throw new Error(await response.text())
  let size = 0
  for await (const chunk of response.body) size += chunk.length
  return size
}

/** Returns the memory of the server's process in MB. */
function residentMemory(): number {
  const [, kilobytes = '0'] =
    /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

async function withPeak(work: () => Promise<void>): Promise<number> {
  let peak = residentMemory()
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMemory())
  }, 50)
  await work()
  clearInterval(timer)
  return peak
}

try {
  const token = (await runScript(directory, basalt, ['admin', 'token'])).trim()
  const headers = { authorization: `Bearer ${token}` }
  const url = `${server.url}/api/storage`
  await fetch(`${url}/buckets`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', public: true }),
  })
  const body = randomBytes(megabyte)
  const put = async (name: string, content: Uint8Array | ReadableStream) => {
    await drain(
      await fetch(`${url}/bench/${name}`, {
        method: 'PUT',
        headers,
        body: content,
        duplex: 'half',
      } as RequestInit),
    )
  }
  await put('one', body)
  const root = join(directory, 'static')
  await mkdir(root)
  await writeFile(join(root, 'one'), body)
  const peer = fastify()
  await peer.register(fastifyStatic, { root })
  await peer.listen({ port: 0, host: '127.0.0.1' })
  const peerUrl = `http://127.0.0.1:${(peer.server.address() as AddressInfo).port}/one`
  const get = async (address: string) => void (await drain(await fetch(address)))

  for (const address of [`${url}/bench/one`, peerUrl]) await timed(100, () => get(address))
  const ratios: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const ours = await timed(downloads, () => get(`${url}/bench/one`))
    const theirs = await timed(downloads, () => get(peerUrl))
    ratios.push(theirs / ours)
  }
  console.log(
    `downloads of 1 MB beside @fastify/static: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')} (target 0.7)`,
  )

  // Minimum work of any server: it receives the bytes, writes them and syncs them to the disk.
  const writer = createServer(async (request, response) => {
    const file = await open(join(directory, 'bare', (request.url ?? '').slice(1)), 'w')
    for await (const chunk of request) await file.write(chunk as Buffer)
    await file.sync()
    await file.close()
    response.end('{}')
  })
  await mkdir(join(directory, 'bare'))
  await new Promise<void>((resolve) => writer.listen(0, '127.0.0.1', resolve))
  const writerUrl = `http://127.0.0.1:${(writer.address() as AddressInfo).port}`
  const file = randomBytes(uploadMegabytes * megabyte)
  const send = async (address: string) => {
    const init = { method: 'PUT', headers, body: file }
    await drain(await fetch(address, init as RequestInit))
  }
  const written: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const ours = await timed(uploads, (index) => send(`${url}/bench/${round}-${index}`))
    const bare = await timed(uploads, (index) => send(`${writerUrl}/${round}-${index}`))
    written.push(bare / ours)
  }
  writer.close()
  console.log(
    `uploads of ${uploadMegabytes} MB beside a bare server that writes and syncs a file: ` +
      `${written.map((ratio) => ratio.toFixed(2)).join(', ')} (target 0.5)`,
  )

  const before = residentMemory()
  const large = () => {
    let sent = 0
    return new ReadableStream({
      pull(controller) {
        if (sent === largeMegabytes) controller.close()
        else controller.enqueue(body)
        sent += 1
      },
    })
  }
  const up = await withPeak(
    async () => void (await timed(clients, (index) => put(`large-${index}`, large()))),
  )
  const down = await withPeak(
    async () => void (await timed(clients, (index) => get(`${url}/bench/large-${index}`))),
  )
  console.log(
    `memory with ${clients} clients of ${largeMegabytes} MB: ${before.toFixed(0)} MB before, ` +
      `${(up - before).toFixed(0)} more for uploads, ${(down - before).toFixed(0)} more for downloads (target 50)`,
  )
  await peer.close()
} finally {
  server.process.kill()
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
