import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from '../../../config/schema.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { type Lane, WriteBehind } from '../../../database/write-behind.ts'
import type { Metrics } from '../../../http/metrics.ts'
import type { AnsweredRequest, RequestObserver } from '../../../http/request-observer.ts'
import { messageOf } from '../../../lib/errors.ts'
import { type LogEntry, parseLine } from './entry.ts'
import { insertLogs, insertRequests } from './queries.ts'
import { tapLog } from './tap.ts'

const logsEveryMs = 1000
const requestsEveryMs = 2000
const batchSize = 1000
/** Entries of each kind that wait while the database is unavailable. */
const capacity = 10_000

export interface LogStoreOptions {
  readonly config: Config['logging']
  readonly database: SystemDatabase
  readonly lane: Lane
  readonly metrics: Metrics
  readonly log: Logger
  /** Receives each entry as well. */
  readonly drains: readonly { add(entry: LogEntry): void }[]
}

/** Keeps the log and the requests in the database, behind the work they tell of. */
export class LogStore implements RequestObserver {
  /** Names this process in entries. */
  readonly node = `${hostname()}/${process.pid}`
  /** What it is given is written as before, and kept. */
  readonly log: Logger
  readonly #logs: WriteBehind<LogEntry> | undefined
  readonly #requests: WriteBehind<AnsweredRequest> | undefined

  constructor({ config, database, lane, metrics, log, drains }: LogStoreOptions) {
    const queue = <Entry>(
      what: string,
      everyMs: number,
      write: (entries: readonly Entry[]) => Promise<void>,
    ): WriteBehind<Entry> =>
      new WriteBehind({
        write,
        lane,
        everyMs,
        batchSize,
        capacity,
        // To the output alone: in the queue it would only take the place of what waits.
        onFailure: (error) =>
          log.warn(
            { reason: messageOf(error) },
            `failed to store ${what}; retrying every ${everyMs / 1000} s`,
          ),
      })
    this.#logs = config.store
      ? queue('the log', logsEveryMs, (entries) => insertLogs(database, this.node, entries))
      : undefined
    this.#requests = config.store_requests
      ? queue('the requests', requestsEveryMs, (requests) => insertRequests(database, this.node, requests))
      : undefined
    const isTapped = this.#logs !== undefined || drains.length > 0
    this.log = isTapped ? tapLog(log, (line) => this.#keep(line, drains)) : log
    metrics.watchDropped('log', () => this.#logs?.dropped ?? 0)
    metrics.watchDropped('requests', () => this.#requests?.dropped ?? 0)
  }

  onAnswer(request: AnsweredRequest): void {
    this.#requests?.add(request)
  }

  start(): void {
    this.#logs?.start()
    this.#requests?.start()
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    await Promise.all([this.#logs?.flush(), this.#requests?.flush()])
  }

  async stop(): Promise<void> {
    await Promise.all([this.#logs?.stop(), this.#requests?.stop()])
  }

  #keep(line: string, drains: LogStoreOptions['drains']): void {
    const entry = parseLine(line)
    if (entry === undefined) return
    this.#logs?.add(entry)
    for (const drain of drains) drain.add(entry)
  }
}
