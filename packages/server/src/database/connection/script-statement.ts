import pg, { type Connection as WireConnection } from 'pg'
import { serialize } from 'pg-protocol'
import { missingInput } from './missing-input.ts'

type Callback = (error: Error | null, result?: pg.QueryResult) => void

/** Statement by the extended query protocol whose rows are counted and dropped. */
export class ScriptStatement extends pg.Query {
  /** Resolves to the number of rows when the statement has ended. @throws pg.DatabaseError, or the error that broke the connection */
  readonly ended: Promise<number>
  #lacksInput = false

  constructor(text: string) {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    // Its types omit the mode and the callback. With query_timeout node-postgres sets a callback itself, and
    // emits no error then.
    const config: pg.QueryConfig & { queryMode: 'extended'; callback: Callback } = {
      text,
      queryMode: 'extended',
      callback: (error, result) =>
        error === null ? resolve(result?.rowCount ?? 0) : reject(this.#describe(error)),
    }
    super(config)
    this.ended = promise
  }

  /** Drops the row. Without this method node-postgres keeps every row. */
  handleDataRow(): void {}

  /**
   * Handles `copy … from stdin`, for which there is no input. PostgreSQL has ignored the Sync of the message
   * while it waited for rows (PostgreSQL, COPY Operations). Without another Sync it never becomes ready.
   */
  handleCopyInResponse({ stream }: WireConnection): void {
    this.#lacksInput = true
    stream.write(Buffer.concat([serialize.copyFail(''), serialize.sync()]))
  }

  #describe(error: Error): Error {
    return this.#lacksInput && error instanceof pg.DatabaseError ? missingInput(error) : error
  }
}
