/** The connection to Postgres could not be made or broke; what was in flight may or may not have happened. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** Every connection stayed busy for the whole acquire timeout, or too many requests already wait for one. */
export class PoolExhausted extends Error {
  override readonly name = 'PoolExhausted'
}
