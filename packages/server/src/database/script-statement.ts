import pg, { type Connection as WireConnection } from 'pg'
import { serialize } from 'pg-protocol'

/** A statement by the extended query protocol whose rows are not wanted. */
export class ScriptStatement extends pg.Query {
  /** @throws pg.DatabaseError, or what has broken the connection */
  readonly ended: Promise<void>
  #lacksInput = false

  constructor(text: string) {
    // Its types leave the mode out.
    const config: pg.QueryConfig & { queryMode: 'extended' } = { text, queryMode: 'extended' }
    super(config)
    this.ended = new Promise((resolve, reject) => {
      this.on('end', () => resolve())
      this.on('error', (error) => reject(this.#describe(error)))
    })
  }

  /**
   * `copy … from stdin`: there is nothing to send. PostgreSQL has ignored the Sync of the message while it waited for
   * rows (PostgreSQL, COPY Operations): without another one it never becomes ready.
   */
  handleCopyInResponse({ stream }: WireConnection): void {
    this.#lacksInput = true
    stream.write(Buffer.concat([serialize.copyFail(''), serialize.sync()]))
  }

  /** PostgreSQL calls it canceled by the client. */
  #describe(error: Error): Error {
    if (!this.#lacksInput || !(error instanceof pg.DatabaseError)) return error
    return Object.assign(error, { code: '0A000', message: 'COPY FROM STDIN has no input here' })
  }
}
