import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ownerId } from './cases.ts'
import { median } from './median.ts'
import { processorTimes } from './processor-time.ts'
import { RawConnection, renderRequest } from './raw-connection.ts'
import { basalt, createDirectory, runScript, type Server, startServer } from './server.ts'

/**
 * Prints the bytes and the processor time of lists of the music shop's tracks in each content coding, beside the same lists
 * uncompressed. The processor time is that of the server and the database together, as the median of alternating rounds:
 * `node bench/compression.ts [--rounds 7] [--seconds 2]`.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '8' },
  },
})

const codings = ['identity', 'gzip', 'br', 'zstd'] as const
type Coding = (typeof codings)[number]

/** Maximum ratios to the uncompressed list: that of a list below the threshold of compression, and that of a longer one. */
const targets = { below: 1.0, above: 1.2 } as const
/** Numbers of tracks. The list of 20 is below the threshold. */
const lengths = [20, 100, 500] as const

const pathOf = (tracks: number) => `/api/collections/track?perPage=${tracks}&skipTotal=true`

/** Returns microseconds of processor time for each request. */
async function measure(server: Server, token: string, tracks: number, coding: Coding): Promise<number> {
  const target = new URL(server.url)
  const request = renderRequest(target, token, {
    method: 'GET',
    path: pathOf(tracks),
    headers: { 'Accept-Encoding': coding },
  })
  const before = processorTimes(server)
  const end = performance.now() + Number(options.seconds) * 1000
  let answered = 0
  await Promise.all(
    Array.from({ length: Number(options.connections) }, async () => {
      const connection = new RawConnection(target)
      while (performance.now() < end) {
        await new Promise<void>((resolve) => connection.send(request, () => resolve()))
        answered += 1
      }
      connection.close()
    }),
  )
  const after = processorTimes(server)
  return (after.server - before.server + (after.database - before.database)) / answered
}

/** Returns the bytes of the response on the wire. @throws if it has not the coding that its length requires */
async function sizeOf(server: Server, token: string, tracks: number, coding: Coding): Promise<number> {
  const response = await fetch(new URL(pathOf(tracks), server.url), {
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': coding },
  })
  const found = response.headers.get('content-encoding') ?? 'identity'
  const expected = tracks === lengths[0] ? 'identity' : coding
  await response.arrayBuffer()
  if (!response.ok || found !== expected) {
    throw new Error(`${tracks} tracks in ${coding}: ${response.status}, ${found}`)
  }
  return Number(response.headers.get('content-length'))
}

const directory = createDirectory()
const secret = { BASALT_AUTH_JWT_SECRET: randomBytes(32).toString('hex') }
const server = await startServer(directory, secret)
try {
  const shop = fileURLToPath(new URL('../examples/music-shop/chinook.sql', import.meta.url))
  await runScript(directory, basalt, ['sql', '--file', shop])
  await runScript(directory, basalt, [
    'sql',
    'alter table track enable row level security; create policy everyone on track using (true)',
  ])
  const flags = ['--user', ownerId, '--email', 'bench@example.com', '--seconds', '36000']
  const token = (await runScript(directory, basalt, ['admin', 'token', ...flags], secret)).trim()
  for (const tracks of lengths) {
    const found = new Map<Coding, number[]>(codings.map((coding) => [coding, []]))
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      // Every second round has the other order, so that drift of the machine's speed affects all of them alike.
      for (const coding of round % 2 === 0 ? codings : codings.toReversed()) {
        const cost = await measure(server, token, tracks, coding)
        // The first round warms up.
        if (round > 0) found.get(coding)?.push(cost)
      }
    }
    const plain = found.get('identity') ?? []
    const whole = await sizeOf(server, token, tracks, 'identity')
    for (const coding of codings) {
      const bytes = await sizeOf(server, token, tracks, coding)
      const ratio = median((found.get(coding) ?? []).map((cost, round) => cost / (plain[round] ?? 0)))
      const most = tracks === lengths[0] ? targets.below : targets.above
      const cells = [
        `${tracks} tracks`.padEnd(11),
        coding.padEnd(8),
        `${String(bytes).padStart(6)} bytes (${Math.round((100 * bytes) / whole)} %)`.padEnd(22),
        `${String(Math.round(median(found.get(coding) ?? []))).padStart(5)} µs`,
        ...(coding === 'identity' ? [] : [`ratio ${ratio.toFixed(2)} (at most ${most.toFixed(2)})`]),
      ]
      process.stdout.write(`${cells.join('  ')}\n`)
    }
  }
} finally {
  server.process.kill('SIGTERM')
  await new Promise((resolve) => server.process.once('exit', resolve))
  rmSync(directory, { recursive: true, force: true })
}
