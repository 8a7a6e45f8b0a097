/** The connection to Postgres could not be made or broke; what was in flight may or may not have happened. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** Every connection stays in use for the acquire timeout, or too many requests already wait for one. */
export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted'
  /** Milliseconds in which those that wait are expected to be served; undefined while that is not known. */
  readonly waitMs: number | undefined

  constructor(message: string, waitMs?: number) {
    super(message)
    this.waitMs = waitMs
  }
}
