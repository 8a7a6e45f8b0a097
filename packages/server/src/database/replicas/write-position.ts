import type { Connection } from '../connection/connection.ts'
import { type Answer, type Call, statement } from '../connection/message.ts'
import type { GuardedMessage } from '../session/guard.ts'
import { endOfRecords, formatLogPosition, parseLogPosition } from './log-position.ts'

/** Receiver of the position of the log after a commit, as text. */
export type ReceivePosition = (position: string) => void

const currentPosition: Call = {
  statement: statement('select pg_catalog.pg_current_wal_insert_lsn()'),
  values: [],
}

/**
 * Sends the message and a query of the position after its commit, in the same packet except behind a pooler. In the
 * message itself the position would be read before the commit record exists. The result is due when both have ended, so
 * that the connection is ready for other work.
 *
 * @param message transaction of its own, or the end of one
 * @param send sends messages in order, each with its own Sync
 */
export function sendWithPosition(
  { calls, leavesState }: Pick<GuardedMessage, 'calls' | 'leavesState'>,
  send: (messages: readonly GuardedMessage[]) => void,
  onPosition: ReceivePosition,
): Promise<readonly Answer[]> {
  return new Promise((resolve, reject) => {
    let written: readonly Answer[] | undefined
    let failure: unknown
    const finish = () => {
      if (written === undefined) reject(failure)
      else resolve(written)
    }
    const receive = ([answer]: readonly Answer[]) => {
      const position = parseLogPosition(answer?.rows[0]?.[0] ?? '')
      if (written !== undefined && position !== undefined) {
        onPosition(formatLogPosition(endOfRecords(position)))
      }
      finish()
    }
    send([
      {
        calls,
        leavesState,
        receive(answers) {
          written = answers
        },
        fail(error) {
          failure = error
        },
      },
      // The write is committed, whatever happens to this message.
      { calls: [currentPosition], leavesState: false, receive, fail: finish },
    ])
  })
}

/** Returns the sending of {@link sendWithPosition} for messages without a reset. */
export function sendingOn(connection: Connection): (messages: readonly GuardedMessage[]) => void {
  return (messages) => connection.sendEach(messages)
}

/** Reads the current position. It is unknown where the engine has none, and the position then stays unset. */
export async function readPosition(connection: Connection, onPosition: ReceivePosition): Promise<void> {
  await sendWithPosition({ calls: [], leavesState: false }, sendingOn(connection), onPosition)
}
