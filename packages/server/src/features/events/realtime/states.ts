/**
 * States of a stream:
 * - `opening`: not yet counted among the streams of its user; nothing but a refusal is sent
 * - `live`: sent what is delivered to it
 * - `catchingUp`: sent what it missed of some tables, so that a position of the whole stream is unknown
 * - `liveHeld`, `catchingUpHeld`: the same, while it is unknown whether the token is valid; nothing is sent
 * - `ended`
 */
export type StreamState = 'opening' | 'live' | 'catchingUp' | 'liveHeld' | 'catchingUpHeld' | 'ended'

/**
 * Events of a stream:
 * - `admit`: it is counted among the streams of its user
 * - `catchUp`, `catchUpEnd`: it begins to be sent what it missed, and has been sent that
 * - `deliver`: frames are to be sent
 * - `unverified`, `verified`: frames are to be sent and the token is not known to be valid; it is valid
 * - `end`: the server ends it
 * - `disconnect`: its client has disconnected
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
 * - `hold`: keep them, in order, until the token is known to be valid
 * - `discard`: send neither them nor anything later
 * - `flush`: send what is held
 * - `close`: send the client the reason, and release what the stream uses
 * - `release`: release that
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

/** State and effect that follow each event in each state. The table in the README shows the same. */
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
