/** Times that WebSockets wait for their clients, in milliseconds. */
export interface WebSocketTiming {
  /** A client has so long to authenticate. */
  readonly authenticationMs: number
  /** A ping must be answered in this time. */
  readonly pongMs: number
  /** A client may listen to nothing for so long. */
  readonly idleMs: number
  /** The policies of channels are evaluated again after so long. */
  readonly accessMs: number
}

export const contractTiming: WebSocketTiming = {
  authenticationMs: 10_000,
  pongMs: 10_000,
  idleMs: 60_000,
  accessMs: 10_000,
}
