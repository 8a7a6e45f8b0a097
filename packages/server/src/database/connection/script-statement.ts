import pg, { type Connection as WireConnection } from 'pg'
import { serialize } from 'pg-protocol'
import { missingInput } from './missing-input.ts'

/** A statement by the extended query protocol whose rows are not wanted. */
export class ScriptStatement extends pg.Query {
  /** @throws pg.DatabaseError, or what has broken the connection */
  readonly ended: Promise<void>
  #lacksInput = false

  constructor(text: string) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // Its types leave the mode and the callback out. With query_timeout node-postgres sets a callback itself, and emits
    // no error then.
    const config: pg.QueryConfig & { queryMode: 'extended'; callback: (error: Error | null) => void } = {
      text,
      queryMode: 'extended',
      callback: (error) => (error === null ? resolve() : reject(this.#describe(error))),
    }
    super(config)
    this.ended = promise
  }

  /** Without it node-postgres keeps every row. */
  handleDataRow(): void {}

  /**
   * `copy … from stdin`: there is nothing to send. PostgreSQL has ignored the Sync of the message while it waited for
   * rows (PostgreSQL, COPY Operations): without another one it never becomes ready.
   */
  handleCopyInResponse({ stream }: WireConnection): void {
    this.#lacksInput = true
    stream.write(Buffer.concat([serialize.copyFail(''), serialize.sync()]))
  }

  #describe(error: Error): Error {
    return this.#lacksInput && error instanceof pg.DatabaseError ? missingInput(error) : error
  }
}
