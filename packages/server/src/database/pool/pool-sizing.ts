/** What the size of a pool follows from. */
export interface PoolMeasurements {
  /** Milliseconds to the database and back, without any work there. */
  readonly roundTripMs: number
  /** Milliseconds a connection is in use for one message, the round trip included. */
  readonly workMs: number
  /** Processors of the database's machine where that is this one; undefined where they are not known. */
  readonly cores: number | undefined
}

export interface PoolSizing {
  /** Connections that are taken or opened without waiting for one that is in use. */
  readonly eagerSize: number
  /** Milliseconds a caller waits for one of those before it takes another. */
  readonly growDelayMs: number
}

/** Statements at work for each processor: one computes while another reads, locks or waits for its commit. */
const perCore = 2
const unknownCores = 8
const smallestEagerSize = 2
/** A longer delay would hold up every quick statement while a few slow ones are in flight. */
const growDelayRange = { least: 1, most: 3 }
/** On this machine a round trip takes microseconds; what is measured below this is the wait for a processor. */
const sameMachineMs = 1

/** Milliseconds of a round trip that are spent on the way. */
function networkTime({ roundTripMs, cores }: Omit<PoolMeasurements, 'workMs'>): number {
  return cores !== undefined && roundTripMs < sameMachineMs ? 0 : roundTripMs
}

/**
 * As many connections as keep the database busy with short statements (see docs/decisions/0018-pool-size.md): so many
 * for each processor, and as many again as are in the network meanwhile.
 *
 * @param size connections at most
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

/** Of so many the quickest round trip counts: the others met a busy machine. */
const rememberedRoundTrips = 24
/** Weight of the newest work in the average. */
const averageWeight = 0.02
/** Work beyond this waits for something other than processors. */
export const longestWorkMs = 20

/** Measures a pool while it works. */
export class PoolMeter {
  readonly #size: number
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

  /** Milliseconds to the database and back; 0 on this machine. */
  get networkMs(): number {
    return this.#networkMs
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
