/** Options of a benchmark section: table sizes in rows, and rounds for each measurement. */
export interface GrowthOptions {
  readonly sizes: readonly number[]
  readonly rounds: number
}

/** Benchmark section that starts its own server, fills its tables and prints a table of costs. */
export type GrowthSection = (options: GrowthOptions) => Promise<void>
