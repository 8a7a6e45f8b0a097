import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { codeOf } from '../../src/lib/errors.ts'
import type { Member, PatroniCluster } from './patroni-cluster.ts'

/** Times of acknowledged writes by their path, and the longest pauses between them while the primary changed. */
export class WriteTimes {
  readonly #times = new Map<string, number[]>()
  readonly #pauses = new Map<string, number[]>()

  /** @param paths names of the paths, in the order of the report */
  constructor(paths: readonly string[]) {
    for (const path of paths) this.#times.set(path, [])
  }

  note(path: string): void {
    this.#times.get(path)?.push(performance.now())
  }

  /** Adds the longest pause of each path since a time. */
  closeWindow(kind: string, since: number): void {
    for (const [path, times] of this.#times) {
      const first = Math.max(0, times.findIndex((time) => time >= since) - 1)
      const pauses = times.slice(first).map((time, index, all) => time - (all[index - 1] ?? time))
      const key = `${kind}, ${path}`
      this.#pauses.set(key, [...(this.#pauses.get(key) ?? []), Math.max(...pauses)])
    }
  }

  /** Returns one line for each kind of change and path. */
  report(): readonly string[] {
    return [...this.#pauses].map(([key, pauses]) => {
      const sorted = pauses.toSorted((one, other) => one - other)
      const seconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`
      const median = seconds(sorted[Math.floor((sorted.length - 1) / 2)])
      return `${key}: ${sorted.length} changes, pause in writes: median ${median}, maximum ${seconds(sorted.at(-1))}`
    })
  }
}

/** SQLSTATE of a write on a standby. */
const readOnlyTransaction = '25006'
const beatMs = 50

/** Writes to every server by plain SQL, which succeeds on the primary. It shows the part of a pause that is not Basalt's. */
export async function startBeats(
  { members, sql }: PatroniCluster,
  primary: Member,
  onWrite: () => void,
): Promise<AsyncDisposable> {
  await sql(
    primary.port,
    'postgres',
    'create table beat (id bigint generated always as identity primary key)',
  )
  let isStopped = false
  const write = async (port: number) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', connectionTimeoutMillis: 1000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      while (!isStopped) {
        const code = await client.query('insert into beat default values').then(() => 'written', codeOf)
        if (code === 'written') onWrite()
        else if (code !== readOnlyTransaction) return
        await delay(beatMs)
      }
    } catch {
      // The server is not running.
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const running = members.map(async ({ port }) => {
    while (!isStopped) {
      await write(port)
      await delay(beatMs)
    }
  })
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true
      await Promise.all(running)
    },
  }
}
