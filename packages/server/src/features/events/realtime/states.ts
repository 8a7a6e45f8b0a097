/**
 * States of a stream:
 * - `opening`: not yet counted among the streams of its user; only a refusal is sent
 * - `live`: new events are sent
 * - `catchingUp`: missed events of some tables are sent, so that the stream as a whole has no known position
 * - `liveHeld`, `catchingUpHeld`: the same, while the validity of the token is unknown; nothing is sent
 * - `ended`
 */
export type StreamState = 'opening' | 'live' | 'catchingUp' | 'liveHeld' | 'catchingUpHeld' | 'ended'

/**
 * Events of a stream:
 * - `admit`: it is counted among the streams of its user
 * - `catchUp`, `catchUpEnd`: the delivery of missed events starts and ends
 * - `deliver`: frames are to be sent
 * - `unverified`: frames are to be sent and the token is not known to be valid
 * - `verified`: the token is valid
 * - `end`: the server ends the stream
 * - `disconnect`: the client has disconnected
 */
export type StreamEvent =
  | 'admit'
  | 'catchUp'
  | 'catchUpEnd'
  | 'deliver'
  | 'unverified'
  | 'verified'
  | 'end'
  | 'disconnect'

/**
 * Effects of an event:
 * - `send`: send the frames
 * - `hold`: queue the frames until the token is known to be valid
 * - `discard`: discard the frames and everything later
 * - `flush`: send the held frames
 * - `close`: send the reason to the client, and release the resources of the stream
 * - `release`: release the resources
 */
export type StreamEffect = 'none' | 'send' | 'hold' | 'discard' | 'flush' | 'close' | 'release'

export interface Transition {
  readonly to: StreamState
  readonly effect: StreamEffect
}

function on(to: StreamState, effect: StreamEffect = 'none'): Transition {
  return { to, effect }
}

/** Events that end a stream in every state but the last. */
const ending = { end: on('ended', 'close'), disconnect: on('ended', 'release') } as const

/** State and effect of each event in each state. The README has the same table. */
export const transitions: Readonly<Record<StreamState, Readonly<Record<StreamEvent, Transition>>>> = {
  opening: {
    admit: on('live'),
    catchUp: on('opening'),
    catchUpEnd: on('opening'),
    deliver: on('opening', 'send'),
    unverified: on('opening'),
    verified: on('opening'),
    ...ending,
  },
  live: {
    admit: on('live'),
    catchUp: on('catchingUp'),
    catchUpEnd: on('live'),
    deliver: on('live', 'send'),
    unverified: on('liveHeld'),
    verified: on('live'),
    ...ending,
  },
  catchingUp: {
    admit: on('catchingUp'),
    catchUp: on('catchingUp'),
    catchUpEnd: on('live'),
    deliver: on('catchingUp', 'send'),
    unverified: on('catchingUpHeld'),
    verified: on('catchingUp'),
    ...ending,
  },
  liveHeld: {
    admit: on('liveHeld'),
    catchUp: on('catchingUpHeld'),
    catchUpEnd: on('liveHeld'),
    deliver: on('liveHeld', 'hold'),
    unverified: on('liveHeld'),
    verified: on('live', 'flush'),
    ...ending,
  },
  catchingUpHeld: {
    admit: on('catchingUpHeld'),
    catchUp: on('catchingUpHeld'),
    catchUpEnd: on('liveHeld'),
    deliver: on('catchingUpHeld', 'hold'),
    unverified: on('catchingUpHeld'),
    verified: on('catchingUp', 'flush'),
    ...ending,
  },
  ended: {
    admit: on('ended'),
    catchUp: on('ended'),
    catchUpEnd: on('ended'),
    deliver: on('ended', 'discard'),
    unverified: on('ended'),
    verified: on('ended'),
    end: on('ended'),
    disconnect: on('ended'),
  },
}
