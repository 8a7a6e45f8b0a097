import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { RawConnection } from './raw-connection.ts'
import { basalt, createDirectory, runScript, startServer } from './server.ts'

/**
 * Measures small files of a site a second over keep-alive connections, against the same files from @fastify/static, and
 * the duration of a deploy of many files.
 */
const files = 500
const fileBytes = 2048
const connections = 32
const seconds = 4
const rounds = 3
const target = 0.6
const deployedFiles = 10_000

const directory = createDirectory()
const dist = join(directory, 'dist')
writeBuild(dist, files, fileBytes)
const server = await startServer(directory, { BASALT_LOGGING_STORE_REQUESTS: 'false' })
const comparison = spawn(
  process.execPath,
  [fileURLToPath(new URL('static-server.ts', import.meta.url)), dist],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const [address] = await once(comparison.stdout, 'data')
  await runScript(directory, basalt, ['sites', 'create', 'bench'])
  await runScript(directory, basalt, ['sites', 'deploy', dist, '--site', 'bench'])
  // Nodes notice within a second.
  await delay(1500)
  const sides = [
    { name: 'sites', url: new URL(server.url), host: 'bench.localhost', rates: [] as number[] },
    {
      name: '@fastify/static',
      url: new URL(String(address).trim()),
      host: 'localhost',
      rates: [] as number[],
    },
  ] as const
  for (let round = 0; round < rounds; round += 1) {
    for (const { url, host, rates } of sides) rates.push(await measure(url, host))
  }
  const [own, other] = sides.map(({ rates }) => rates.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0)
  const ratio = (own ?? 0) / (other ?? 1)
  console.log(`files of a site a second: ${Math.round(own ?? 0)}; @fastify/static: ${Math.round(other ?? 0)}`)
  console.log(`ratio ${ratio.toFixed(2)} (target ${target}: ${ratio >= target ? 'reached' : 'missed'})`)
  await measureDeploy()
} finally {
  await Promise.all([end(server.process), end(comparison)])
  rmSync(directory, { recursive: true, force: true })
}

function writeBuild(path: string, count: number, bytes: number): void {
  mkdirSync(path)
  writeFileSync(join(path, 'index.html'), '<h1>bench</h1>')
  for (let index = 0; index < count; index += 1) {
    writeFileSync(join(path, `${index}.txt`), `${index} `.padEnd(bytes, 'small files of a site '))
  }
}

/** @returns files a second */
async function measure(url: URL, host: string): Promise<number> {
  const requests = Array.from({ length: files }, (_, index) =>
    Buffer.from(`GET /${index}.txt HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  )
  let [sent, answered, isOver] = [0, 0, false]
  const open = Array.from({ length: connections }, () => {
    const connection = new RawConnection(url)
    const send = () =>
      connection.send(requests[sent++ % files] ?? Buffer.alloc(0), () => {
        answered += 1
        if (!isOver) send()
      })
    send()
    return connection
  })
  const begunAt = performance.now()
  await delay(seconds * 1000)
  const rate = (answered / (performance.now() - begunAt)) * 1000
  isOver = true
  await delay(100)
  for (const connection of open) connection.close()
  return rate
}

async function measureDeploy(): Promise<void> {
  const large = join(directory, 'large')
  writeBuild(large, deployedFiles - 1, 200)
  for (const what of ['new', 'known']) {
    const begunAt = performance.now()
    await runScript(directory, basalt, ['sites', 'deploy', large, '--site', 'bench'])
    const took = ((performance.now() - begunAt) / 1000).toFixed(1)
    console.log(`deploy of ${deployedFiles} ${what} files: ${took} s`)
  }
}

async function end(process: ChildProcess): Promise<void> {
  const ended = once(process, 'exit')
  process.kill()
  await ended
}
