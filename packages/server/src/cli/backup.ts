import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { Connection } from '../database/connection/connection.ts'
import { writeBackup } from '../database/embedded/backup.ts'
import { hasCluster } from '../database/embedded/cluster.ts'
import { EmbeddedPostgres } from '../database/embedded/embedded-postgres.ts'
import { recordBackup } from '../database/embedded/last-backup.ts'
import { ConnectionLost } from '../database/errors/failures.ts'
import { queryableOn } from '../database/system-database.ts'
import { messageOf, OperatorError } from '../lib/errors.ts'
import { readVersion } from '../package.ts'
import { loadCommandConfig, print, type Terminal, warn, withConfigFlags } from './context.ts'

export function backupCommand(terminal: Terminal): Command {
  const command = new Command('backup')
    .description(
      'write the embedded database and the generated secrets to a file, with or without a running server',
    )
    .argument('<file>', 'file to create, such as basalt.tar.gz; it contains secrets')
  return withConfigFlags(command).action(async (name: string) => {
    const { config } = loadCommandConfig(terminal, command)
    if (config.database.url !== '') {
      throw new OperatorError(
        'database.url is set: back up that server with its own tools, such as ' +
          'pg_dump --format=custom (one database) with pg_dumpall --roles-only, or pg_basebackup (all of it), and keep ' +
          'the configured secrets (docs/guides/backup.md)',
      )
    }
    const file = resolve(terminal.cwd(), name)
    if (existsSync(file)) throw new OperatorError(`${file} exists: choose another name`)
    const dataDirectory = config.server.data_dir
    if (!hasCluster(dataDirectory)) throw new OperatorError(`${dataDirectory} has no database`)
    const interruption = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) terminal.on(signal, () => interruption.abort())
    const embedded = await EmbeddedPostgres.open({
      dataDirectory,
      purpose: 'basalt backup',
      asServer: false,
      log: () => undefined,
      tcpPort: config.database.embedded_port,
      signal: interruption.signal,
    })
    try {
      const { signal } = interruption
      await writeBackup({ embedded, dataDirectory, file, basaltVersion: readVersion(), signal })
      await recordEnd(embedded, file).catch((error) => {
        const reason = error instanceof ConnectionLost ? messageOf(error.cause) : messageOf(error)
        warn(terminal, `the backup is complete, but its end could not be recorded: ${reason}`)
      })
    } finally {
      await embedded.close()
    }
    print(terminal, `${file}\n`)
    const kept = (['jwt_secret', 'encryption_key'] as const).filter((key) => config.auth[key] !== '')
    if (kept.length > 0) {
      terminal.stderr.write(`not in the backup, keep apart: ${kept.map((key) => `auth.${key}`).join(', ')}\n`)
    }
  })
}

/** Records the end of the backup in the database, for `basalt doctor`. */
async function recordEnd({ socket }: EmbeddedPostgres, file: string): Promise<void> {
  const applicationName = 'basalt backup'
  const target = { socket, applicationName, settings: {}, prepare: false, connectTimeoutMs: 3000 }
  const connection = await Connection.open(target)
  try {
    await recordBackup(queryableOn(connection), statSync(file).size)
  } finally {
    await connection.close()
  }
}
