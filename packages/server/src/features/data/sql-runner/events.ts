import type { Notice } from '../../../database/connection/connection.ts'

/** Event that a run reports; a line of `application/x-ndjson`. */
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
  /** Command tag such as `INSERT 0 3`; null if rows were left out. */
  readonly command: string | null
  readonly columns: readonly { readonly name: string; readonly type: string; readonly typeId: number }[]
  /** Values as PostgreSQL prints them. */
  readonly rows: readonly (readonly (string | null)[])[]
  /**
   * Number of rows that the statement returned or changed. For a truncated result it is the number of included rows.
   */
  readonly rowCount: number
  readonly hasMore: boolean
  /** Values that were cut: row, column, full length. */
  readonly cut: readonly (readonly [number, number, number])[]
  readonly durationMs: number
}
