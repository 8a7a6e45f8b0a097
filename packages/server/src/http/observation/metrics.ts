import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { processMetrics } from './process-metrics.ts'
import type { RequestObserver } from './request-observer.ts'

export interface PoolStats {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/** Registry of `GET /metrics`. Each server has its own, so that tests can run several in a process. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Counter<'operation' | 'status'>
  readonly #duration: Histogram<'operation'>
  /**
   * Counters by their labels. Resolving labels costs more than counting, so each combination is resolved once.
   */
  readonly #counters = new Map<string, Counter.Internal>()
  readonly #timers = new Map<string, Histogram.Internal<'operation'>>()

  readonly #dropped = new Map<string, () => number>()
  #poolStats: (() => PoolStats) | undefined
  #connectionLimit: (() => number) | undefined

  /** @param worker label of every sample, where several processes serve */
  constructor(worker?: number) {
    if (worker !== undefined) {
      for (const registry of [this.#registry, processMetrics()]) registry.setDefaultLabels({ worker })
    }
    // These metrics begin with the process, not with the first scrape.
    processMetrics()
    const dropped = this.#dropped
    new Counter({
      name: 'basalt_dropped_entries_total',
      help: 'Entries that were lost because their queue was full or the database rejected them, by queue.',
      labelNames: ['queue'],
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const [queue, count] of dropped) this.inc({ queue }, count())
      },
    })
    this.#requests = new Counter({
      name: 'basalt_http_requests_total',
      help: 'Completed requests, by operation and status.',
      labelNames: ['operation', 'status'],
      registers: [this.#registry],
    })
    this.#duration = new Histogram({
      name: 'basalt_http_request_duration_seconds',
      help: 'Time from the request line to the end of the response, by operation.',
      labelNames: ['operation'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [this.#registry],
    })
  }

  /** Registry for the metrics of other parts. */
  get registry(): Registry {
    return this.#registry
  }

  /** Renders the metrics in the Prometheus text format. */
  async render(): Promise<{ readonly contentType: string; readonly text: string }> {
    const { contentType } = this.#registry
    const [own, ofProcess] = await Promise.all([this.#registry.metrics(), processMetrics().metrics()])
    return { contentType, text: `${ofProcess}\n${own}` }
  }

  /** Returns the state of the connections for data requests. */
  poolStats(): PoolStats {
    return this.#poolStats?.() ?? { busy: 0, idle: 0, waiting: 0 }
  }

  /** Returns the maximum number of connections of this process. */
  connectionLimit(): number {
    return this.#connectionLimit?.() ?? 0
  }

  /** Counts the garbage collections since the process started. */
  async countCollections(): Promise<number> {
    const found = await processMetrics().getSingleMetric('nodejs_gc_duration_seconds')?.get()
    const counts = found?.values.filter(
      (value) => 'metricName' in value && /_count$/.test(String(value.metricName)),
    )
    return counts?.reduce((total, { value }) => total + value, 0) ?? 0
  }

  /** Adds the count of entries that a queue has dropped. */
  watchDropped(queue: string, count: () => number): void {
    this.#dropped.set(queue, count)
  }

  /** Adds the connections of a pool. */
  watchPool(stats: () => PoolStats, limit: () => number): void {
    this.#poolStats = stats
    this.#connectionLimit = limit
    new Gauge({
      name: 'basalt_database_connection_limit',
      help: 'Maximum number of connections of this process, a part of which is reserved for sign-in, health and jobs.',
      registers: [this.#registry],
      collect() {
        this.set(limit())
      },
    })
    new Gauge({
      name: 'basalt_database_connections',
      help: 'Connections for data requests by state, and requests that wait for one.',
      labelNames: ['state'],
      registers: [this.#registry],
      collect() {
        for (const [state, value] of Object.entries(stats())) this.set({ state }, value)
      },
    })
  }

  /** Adds the open streams of this node. */
  watchStreams(count: () => Readonly<Record<'sse' | 'ws', number>>): void {
    new Gauge({
      name: 'basalt_realtime_connections',
      help: 'Open realtime streams, by transport.',
      labelNames: ['transport'],
      registers: [this.#registry],
      collect() {
        for (const [transport, value] of Object.entries(count())) this.set({ transport }, value)
      },
    })
  }

  observe(operation: string, status: number, seconds: number): void {
    const key = `${operation} ${status}`
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = this.#requests.labels(operation, String(status))
      this.#counters.set(key, counter)
    }
    counter.inc()
    let timer = this.#timers.get(operation)
    if (timer === undefined) {
      timer = this.#duration.labels(operation)
      this.#timers.set(operation, timer)
    }
    timer.observe(seconds)
  }
}

/** Creates the observer that measures every response under its operation's name: its count and its duration. */
export function measureRequests(metrics: Metrics): RequestObserver {
  return {
    onAnswer: ({ operation = 'unknown', status, durationMs }) =>
      metrics.observe(operation, status, durationMs / 1000),
  }
}
