/** Measurements that determine the size of a pool. */
export interface PoolMeasurements {
  /** Milliseconds of a round trip to the database without any work there. */
  readonly roundTripMs: number
  /** Milliseconds that a connection is in use for one message, including the round trip. */
  readonly workMs: number
  /** Processors of the database's machine if that is this one; undefined where they are unknown. */
  readonly cores: number | undefined
}

export interface PoolSizing {
  /** Number of connections that are used or opened without waiting for one in use. */
  readonly eagerSize: number
  /** Milliseconds that a caller waits for one of those before it gets another. */
  readonly growDelayMs: number
}

/** Statements at work for each processor. One computes while another reads, locks or waits for its commit. */
const perCore = 2
const unknownCores = 8
const smallestEagerSize = 2
/**
 * Range of the grow delay. A longer one would hold up every quick statement while a few slow ones are in
 * flight.
 */
const growDelayRange = { least: 1, most: 3 }
/**
 * Limit below which a round trip counts as none. On the same machine it takes microseconds, and a longer
 * measurement is the wait for a processor.
 */
const sameMachineMs = 1

/** Returns the milliseconds of a round trip that the network takes. */
function networkTime({ roundTripMs, cores }: Omit<PoolMeasurements, 'workMs'>): number {
  return cores !== undefined && roundTripMs < sameMachineMs ? 0 : roundTripMs
}

/**
 * Computes how many connections keep the database busy with short statements (see
 * docs/decisions/0018-pool-size.md). The sum is a number per processor, and the messages that are in the
 * network meanwhile.
 *
 * @param size maximum number of connections
 */
export function sizePool(measurements: PoolMeasurements, size: number): PoolSizing {
  const { workMs, cores } = measurements
  const networkMs = networkTime(measurements)
  const serviceMs = Math.max(workMs - networkMs, 0.05)
  const wanted = Math.floor((cores ?? unknownCores) * perCore * (1 + networkMs / serviceMs))
  return {
    eagerSize: Math.min(Math.max(wanted, smallestEagerSize), size),
    growDelayMs: Math.min(Math.max(workMs, growDelayRange.least), growDelayRange.most),
  }
}

/** Number of round trips of which the quickest counts. The others met a loaded machine. */
const rememberedRoundTrips = 24
/** Weight of the newest work in the average. */
const averageWeight = 0.02
/** Work time beyond which work waits for something other than processors. */
export const longestWorkMs = 20

/** Meter of a pool at work. */
export class PoolMeter {
  #size: number
  readonly #cores: number | undefined
  #roundTrips: number[] = []
  #workMs = 1
  #networkMs = 0
  #sizing: PoolSizing

  constructor(size: number, cores: number | undefined) {
    this.#size = size
    this.#cores = cores
    this.#sizing = this.#compute()
  }

  get sizing(): PoolSizing {
    return this.#sizing
  }

  /** Milliseconds of a round trip to the database; 0 on this machine. */
  get networkMs(): number {
    return this.#networkMs
  }

  /** Adapts the measurements to another maximum number of connections. */
  resize(size: number): void {
    this.#size = size
    this.#sizing = this.#compute()
  }

  addRoundTrip(ms: number): void {
    this.#roundTrips = [...this.#roundTrips, ms].slice(-rememberedRoundTrips)
    this.#networkMs = networkTime({ roundTripMs: Math.min(...this.#roundTrips), cores: this.#cores })
    this.#sizing = this.#compute()
  }

  addWork(ms: number): void {
    this.#workMs += averageWeight * (Math.min(ms, longestWorkMs) - this.#workMs)
    this.#sizing = this.#compute()
  }

  #compute(): PoolSizing {
    const roundTripMs = this.#roundTrips.length === 0 ? 0 : Math.min(...this.#roundTrips)
    return sizePool({ roundTripMs, workMs: this.#workMs, cores: this.#cores }, this.#size)
  }
}
