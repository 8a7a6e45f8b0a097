import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { flushAtStop } from '../../../database/write-behind.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import type {
  AnsweredRequest,
  OpenedStream,
  RequestObserver,
} from '../../../http/observation/request-observer.ts'
import type { JobQueue, JobType } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { TaskQueue } from '../../../lib/task-queue.ts'
import { addUsage, type UsageRow } from './queries.ts'

/** Interval at which a node adds its counters to the database. A killed process loses the counts since then. */
const flushMs = 5000
/**
 * Maximum number of counters in memory. Beyond them, requests are counted under one endpoint, so that their
 * sum stays right.
 */
const counterLimit = 20_000
const hourMs = 3_600_000

/** Measure of stored bytes by app, provided by the file storage. */
export type MeasureStorage = () => Promise<ReadonlyMap<string, number>>

export interface MeterOptions {
  readonly database: SystemDatabase
  readonly lane: TaskQueue
  readonly clock: Clock
  readonly log: Logger
  /** Missing while nothing stores files. */
  readonly measureStorage?: MeasureStorage | undefined
  readonly limit?: number
}

/** Operations whose requests count as procedure calls. */
const procedureOperation = /^(rpc|procedures)\./
const streamOperation = /^(realtime|graphql)\./

/**
 * Meter that counts usage in memory and adds it to the database every few seconds, in one statement. Apps
 * come from verified identities and endpoints from routes, so no client can create counters.
 */
export class Meter implements RequestObserver {
  readonly #options: MeterOptions
  readonly #node = randomUUID()
  readonly #streams = new Map<OpenedStream, { readonly appId: string }>()
  /** Peak number of streams since the last batch, by app. */
  readonly #peaks = new Map<string, number>()
  #rows = new Map<string, UsageRow>()
  /** Batch that was sent and may not have been added. It is sent again under its number until it is confirmed. */
  #batch: { readonly number: number; readonly rows: readonly UsageRow[]; readonly open: object } | undefined
  #batches = 0
  #hadStreams = false
  #timer: NodeJS.Timeout | undefined
  #isFailing = false

  constructor(options: MeterOptions) {
    this.#options = options
  }

  onAnswer(request: AnsweredRequest): void {
    const endpoint = request.route === undefined ? '(no route)' : `${request.method} ${request.route}`
    const row = this.#row(request.at, request.appId, endpoint, request.status)
    row.requests += 1
    row.bytes_in += request.bytesIn
    row.bytes_out += request.bytesOut
    if (procedureOperation.test(request.operation ?? '')) row.procedure_calls += 1
  }

  onStream(stream: OpenedStream): void {
    if (!streamOperation.test(stream.operation ?? '')) return
    this.#streams.set(stream, stream)
    const open = this.#countStreams().get(stream.appId) ?? 0
    this.#peaks.set(stream.appId, Math.max(open, this.#peaks.get(stream.appId) ?? 0))
    stream.onClose(() => {
      this.#countTraffic(stream)
      this.#streams.delete(stream)
    })
  }

  addJobRun(): void {
    this.#row(this.#options.clock.now(), defaultAppId).job_runs += 1
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  /** Adds the counts to the database. Never rejects: a failed write is retried. */
  async flush(): Promise<void> {
    try {
      await this.#options.lane.add(() => this.#flush())
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#options.log.warn(
          { reason: messageOf(error) },
          `failed to write the usage counters; retrying every ${flushMs / 1000} s`,
        )
      this.#isFailing = true
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await flushAtStop(async () => {
      await this.flush()
      // Counts of the time in which an earlier batch was unconfirmed.
      if (!this.#isFailing && this.#rows.size > 0) await this.flush()
      return !this.#isFailing
    })
  }

  async #flush(): Promise<void> {
    const { database, measureStorage } = this.#options
    this.#batch ??= this.#takeBatch(await measureStorage?.())
    if (this.#batch === undefined) return
    await addUsage(database, this.#node, this.#batch)
    this.#batch = undefined
  }

  #takeBatch(storage: ReadonlyMap<string, number> | undefined) {
    for (const stream of this.#streams.keys()) this.#countTraffic(stream)
    const now = this.#options.clock.now()
    const open = this.#countStreams()
    const peaks = new Map([...open, ...this.#peaks])
    for (const [appId, peak] of peaks) this.#row(now, appId).connections = peak
    for (const [appId, bytes] of storage ?? []) this.#row(now, appId).storage_bytes = bytes
    // The other nodes must see that the last stream has ended.
    if (this.#rows.size === 0 && !this.#hadStreams) return undefined
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    this.#peaks.clear()
    this.#hadStreams = peaks.size > 0
    this.#batches += 1
    return { number: this.#batches, rows, open: Object.fromEntries(peaks) }
  }

  #countStreams(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { appId } of this.#streams.values()) counts.set(appId, (counts.get(appId) ?? 0) + 1)
    return counts
  }

  #countTraffic(stream: OpenedStream): void {
    const { bytesIn, bytesOut } = stream.takeTraffic()
    if (bytesIn + bytesOut === 0) return
    const row = this.#row(this.#options.clock.now(), stream.appId)
    row.bytes_in += bytesIn
    row.bytes_out += bytesOut
  }

  #row(at: Date, appId: string, endpoint: string | null = null, status: number | null = null): UsageRow {
    const hour = Math.floor(at.getTime() / hourMs)
    const key = `${hour} ${appId} ${status} ${endpoint}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const isFull = this.#rows.size >= (this.#options.limit ?? counterLimit)
    if (isFull && endpoint !== null && endpoint !== overflow) return this.#row(at, appId, overflow, 0)
    const row: UsageRow = {
      app_id: appId,
      hour: new Date(hour * hourMs).toISOString(),
      endpoint,
      status,
      requests: 0,
      bytes_in: 0,
      bytes_out: 0,
      procedure_calls: 0,
      job_runs: 0,
      connections: 0,
      storage_bytes: null,
    }
    this.#rows.set(key, row)
    return row
  }
}

const overflow = '(other)'

/** Returns the queue, with every run of a job counted. */
export function countJobRuns(queue: JobQueue, meter: Pick<Meter, 'addJobRun'>): JobQueue {
  const count = <Payload extends object>(type: JobType<Payload>): JobType<Payload> => ({
    ...type,
    handle(payload, job) {
      meter.addJobRun()
      return type.handle(payload, job)
    },
  })
  return {
    define: (type) => queue.define(count(type)),
    replaceFunctionTypes: (types, lock, earlier = []) =>
      queue.replaceFunctionTypes(
        types.map((type) => count(type)),
        lock,
        earlier.map((type) => count(type)),
      ),
    isReserved: (name) => queue.isReserved(name),
    findType: (name) => queue.findType(name),
    listTypes: () => queue.listTypes(),
    enqueue: (...args) => queue.enqueue(...args),
    wake: () => queue.wake(),
    start: () => queue.start(),
    stop: () => queue.stop(),
  }
}
