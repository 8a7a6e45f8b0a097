import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { LoggingConfig } from '../../../config/logging.ts'
import type { DatabaseConfig } from '../../../database/config.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { WriteBehind } from '../../../database/write-behind.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import type { AnsweredRequest, RequestObserver } from '../../../http/observation/request-observer.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { divertLog, tapLog } from '../../../lib/log-tap.ts'
import type { TaskQueue } from '../../../lib/task-queue.ts'
import { createDrains, type LogDrain } from './drains.ts'
import { type LogLine, parseLine } from './line.ts'
import { insertLogs } from './log.ts'
import { insertRequests } from './request.ts'
import { RequestRows } from './request-rows.ts'

const logsEveryMs = 1000
const requestsEveryMs = 2000
/**
 * Number of requests of one write, small enough to delay no response. PostgreSQL inserts a thousand rows of a
 * COPY in 7 ms.
 */
const batchSize = 250
/** Maximum number of entries of each kind that wait while the database is unavailable. */
const capacity = 10_000
/** Maximum duration of one COPY. Each statement costs PostgreSQL as much as dozens of requests. */
const longestCopyMs = 1000

export interface LogStoreOptions {
  readonly config: { readonly logging: LoggingConfig; readonly database: DatabaseConfig }
  readonly database: SystemDatabase
  readonly lane: TaskQueue
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  /** Name of the service for receivers of the log. */
  readonly serviceName: string
}

/** Store of the log and the requests, which writes them to the database in the background. */
export class LogStore implements RequestObserver {
  /** Name of this process in entries. */
  readonly node = `${hostname()}/${process.pid}`
  /** Log that writes to the output and stores each entry. */
  readonly log: Logger
  /** Log that only stores each entry. */
  readonly storedLog: Logger
  readonly #logs: WriteBehind<LogLine> | undefined
  readonly #requests: WriteBehind<AnsweredRequest, RequestRows> | undefined
  readonly #drains: readonly LogDrain[]
  readonly #clock: Clock

  constructor({ config, database, lane, metrics, clock, log, serviceName }: LogStoreOptions) {
    this.#clock = clock
    const { store, store_requests, drains } = config.logging
    const queue = (what: string, everyMs: number) => ({
      lane,
      everyMs,
      batchSize,
      capacity,
      // This goes only to the output. In the queue it would displace waiting entries.
      onFailure: (error: unknown) =>
        log.warn({ reason: messageOf(error) }, `failed to store ${what}; retrying every ${everyMs / 1000} s`),
    })
    this.#logs = store
      ? new WriteBehind<LogLine>({
          ...queue('the log', logsEveryMs),
          createBatch: () => [],
          write: (entries) => insertLogs(database, this.node, entries),
        })
      : undefined
    this.#requests = store_requests
      ? new WriteBehind({
          ...queue('the requests', requestsEveryMs),
          createBatch: () => new RequestRows(this.node),
          // The limit is well within the statement timeout, which also covers the wait for requests.
          followMs: Math.min(longestCopyMs, config.database.statement_timeout_ms / 4),
          write: (requests, following) => insertRequests(database, requests, following),
        })
      : undefined
    this.#drains = createDrains({ drains, serviceName, node: this.node, metrics, log })
    const isTapped = this.#logs !== undefined || this.#drains.length > 0
    this.log = isTapped ? tapLog(log, (line) => this.#keep(line)) : log
    this.storedLog = divertLog(log, (line) => this.#keep(line))
    metrics.watchDropped('log', () => this.#logs?.dropped ?? 0)
    metrics.watchDropped('requests', () => this.#requests?.dropped ?? 0)
  }

  onAnswer(request: AnsweredRequest): void {
    this.#requests?.add(request)
  }

  start(): void {
    this.#logs?.start()
    this.#requests?.start()
    for (const drain of this.#drains) drain.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#logs, this.#requests, ...this.#drains].map((queue) => queue?.stop()))
  }

  #keep(line: string): void {
    const entry = parseLine(line, this.#clock.now())
    if (entry === undefined) return
    this.#logs?.add(entry)
    for (const drain of this.#drains) drain.add(entry)
  }
}
