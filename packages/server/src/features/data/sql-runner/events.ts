import type { Notice } from '../../../database/connection/connection.ts'

/** What a run reports as it goes; lines of `application/x-ndjson`. */
export type RunEvent =
  | { readonly type: 'start'; readonly id: string; readonly role: string; readonly statements: number }
  | ({ readonly type: 'result' } & StatementResult)
  | ({ readonly type: 'notice'; readonly statement: number; readonly message: string } & Notice)
  | {
      readonly type: 'error'
      readonly code: number
      readonly message: string
      readonly error: string
      readonly data?: Readonly<Record<string, unknown>>
    }
  | { readonly type: 'end'; readonly outcome: 'committed' | 'rolled back'; readonly durationMs: number }

export interface StatementResult {
  /** Number of the statement, from 0. */
  readonly statement: number
  readonly line: number
  /** Such as `INSERT 0 3`; null where rows were left. */
  readonly command: string | null
  readonly columns: readonly { readonly name: string; readonly type: string; readonly typeId: number }[]
  /** Values as PostgreSQL prints them. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Rows that the statement answered or changed; of a result that was cut those that are here. */
  readonly rowCount: number
  readonly hasMore: boolean
  /** Values that were cut: row, column, whole length. */
  readonly cut: readonly (readonly [number, number, number])[]
  readonly durationMs: number
}
