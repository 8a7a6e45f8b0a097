/** Options of a benchmark section. */
export interface GrowthOptions {
  /** Table sizes in rows. */
  readonly sizes: readonly number[]
  /** Rounds of each measurement. */
  readonly rounds: number
  /** Part of the names of the cases to measure; empty for all. */
  readonly only: string
}

/** Benchmark section that starts its own server, fills its tables and prints a table of costs. */
export type GrowthSection = (options: GrowthOptions) => Promise<void>
