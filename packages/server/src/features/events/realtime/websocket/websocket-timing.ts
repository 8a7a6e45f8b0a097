/** Timeouts of WebSockets in milliseconds. */
export interface WebSocketTiming {
  /** Time that a client has to authenticate. */
  readonly authenticationMs: number
  /** Time in which a client must respond to a ping. */
  readonly pongMs: number
  /** Time that a client may have no subscription. */
  readonly idleMs: number
  /** Time after which the policies of channels are evaluated again. */
  readonly accessMs: number
  /** Time between two pings of a GraphQL WebSocket. */
  readonly graphqlPingMs: number
  /** Time in which a GraphQL client must read a result while others wait. */
  readonly readMs: number
}

export const contractTiming: WebSocketTiming = {
  authenticationMs: 10_000,
  pongMs: 10_000,
  idleMs: 60_000,
  accessMs: 10_000,
  graphqlPingMs: 25_000,
  readMs: 60_000,
}
