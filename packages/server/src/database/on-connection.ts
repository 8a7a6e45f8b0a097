import type { Connection } from './connection/connection.ts'
import type { Database } from './open.ts'

/**
 * Runs work on a connection beside the pools, and closes the connection. An abort cancels the statement in
 * flight.
 */
export async function onConnection<Result>(
  aside: Pick<Database['aside'], 'cancel'>,
  connection: Connection,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const cancel = () => void aside.cancel(connection)
  signal.addEventListener('abort', cancel)
  try {
    return await work(connection)
  } finally {
    signal.removeEventListener('abort', cancel)
    await connection.close()
  }
}
