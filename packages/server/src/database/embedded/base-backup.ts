import { OperatorError } from '../../lib/errors.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'

/**
 * Reads the data directory of a running cluster as a tar archive, with the WAL that makes it consistent. It is
 * the backup of `pg_basebackup` (PostgreSQL, Streaming Replication Protocol, BASE_BACKUP). It contains all
 * commits before the call.
 */
export async function* readBaseBackup(
  where: Pick<ConnectionTarget, 'socket' | 'url'>,
): AsyncGenerator<Buffer> {
  const connection = await Connection.open({
    ...where,
    applicationName: `basalt backup (process ${process.pid})`,
    settings: {},
    prepare: false,
    connectTimeoutMs: 5000,
    replication: true,
  })
  let isComplete = false
  try {
    // These commands are words in capitals. Checkpoints during the copy remove WAL, so a slot keeps the part
    // that the end of the archive needs.
    await connection.script(
      `CREATE_REPLICATION_SLOT basalt_backup_${process.pid} TEMPORARY PHYSICAL RESERVE_WAL`,
    )
    const messages = connection.copyOut(
      "BASE_BACKUP (LABEL 'basalt', CHECKPOINT 'fast', WAL true, MANIFEST 'no')",
    )
    let archives = 0
    for await (const message of messages as AsyncIterable<Buffer>) {
      const kind = String.fromCharCode(message[0] ?? 0)
      if (kind === 'n') archives += 1
      if (archives > 1) {
        throw new OperatorError(
          'the database has tablespaces outside its directory, which a backup cannot hold',
        )
      }
      if (kind === 'd') yield message.subarray(1)
    }
    isComplete = true
  } finally {
    // In the middle of the copy Postgres would continue to send.
    if (isComplete) await connection.close()
    else connection.destroy()
  }
}
