import type { RowFault } from './row-faults.ts'

/** What became of the rows of an import. */
export interface ImportResult {
  readonly processed: number
  readonly inserted: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
  readonly errors?: readonly RowFault[]
  readonly dryRun?: true
}
