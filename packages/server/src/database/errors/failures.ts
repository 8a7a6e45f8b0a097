/**
 * Thrown when the connection to Postgres broke or could not be made. Work in flight may or may not have
 * happened.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/**
 * Thrown when no connection becomes free within the acquire timeout, or too many requests already wait for one.
 */
export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted'
  /** Milliseconds in which the waiting requests are expected to be served; undefined while that is unknown. */
  readonly waitMs: number | undefined

  constructor(message: string, waitMs?: number) {
    super(message)
    this.waitMs = waitMs
  }
}
