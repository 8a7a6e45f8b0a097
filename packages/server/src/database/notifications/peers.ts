import { createHash } from 'node:crypto'
import type { ClockMeasurement } from '../database-clock.ts'
import { render, type Sql } from '../sql.ts'

/** Message to the other workers of this machine. */
export type PeerMessage =
  /** Topics of committed changes, of this machine or of another node. */
  | { readonly kind: 'announced'; readonly topics: readonly string[] }
  /** Poll of the leader. */
  | {
      readonly kind: 'polled'
      /** Moment of {@link PeerChannel.now} whose earlier commits the poll has seen. */
      readonly begunAt: number
      /** Marks of the polled topics, by their keys. */
      readonly marks: ReadonlyMap<string, string>
      readonly clock: ClockMeasurement
      /** Number of interruptions that the leader has noticed. */
      readonly interruptions: number
      /** Timeline of the database at the poll; undefined if it is unknown. */
      readonly timeline?: number | undefined
    }

/** Receiver of messages and of changes of the leader. */
export interface PeerReceiver {
  /** Handles another leader, or a restarted one. @param isLeader true if it is this worker */
  setLeader(isLeader: boolean): void
  receive(message: PeerMessage): void
}

/**
 * Channel between the workers of a machine. One of them, the leader, polls the database for all. Messages of the leader
 * arrive in order, and those of an earlier leader do not arrive after its successor was named.
 */
export interface PeerChannel {
  /** Returns the milliseconds of a clock that all workers share. */
  now(): number
  /** Sends a message to all other workers. */
  send(message: PeerMessage): void
  connect(receiver: PeerReceiver): void
}

/** Maximum length of a version that is its own digest. */
const longestDigest = 64

/** Returns a short text that differs for different versions. */
export function digestOf(version: string | null): string {
  if (version === null) return ''
  return version.length < longestDigest ? `=${version}` : hash(version)
}

/**
 * Returns the key of a topic. Workers with the same key evaluate the same expression, although their configurations or
 * versions may differ.
 */
export function keyOf(topic: string, version: Sql | (() => Sql)): string {
  if (typeof version === 'function') return hash(`${topic}\n${render(version()).text}`)
  const { text, values } = render(version)
  return hash(`${topic}\n${text}\n${JSON.stringify(values)}`)
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
