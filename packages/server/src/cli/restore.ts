import { resolve } from 'node:path'
import { Command } from 'commander'
import { restoreBackup } from '../database/embedded/restore.ts'
import { OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { describeServer, findServers } from './server-note.ts'

export function restoreCommand(terminal: Terminal): Command {
  const command = new Command('restore')
    .description('replace the embedded database and the generated secrets by a backup')
    .argument('<file>', 'what `basalt backup` wrote')
    .option('--force', 'move an existing database aside')
  return withConfigFlags(command).action(async (name: string, options: { force?: boolean }) => {
    const { config } = loadCommandConfig(terminal, command)
    if (config.database.url !== '') {
      throw new OperatorError(
        'database.url is set: restore that server with its own tools, such as pg_restore or a copy of pg_basebackup',
      )
    }
    const dataDirectory = config.server.data_dir
    const interruption = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) terminal.on(signal, () => interruption.abort())
    const { description, asides } = await restoreBackup({
      file: resolve(terminal.cwd(), name),
      dataDirectory,
      replaces: options.force === true,
      findServer: () =>
        findServers(dataDirectory)
          .filter(({ isAlive }) => isAlive)
          .map(describeServer)[0],
      signal: interruption.signal,
    })
    const { createdAt, basaltVersion, postgresVersion } = description
    print(
      terminal,
      `restored the backup of ${createdAt} (Basalt ${basaltVersion}, PostgreSQL ${postgresVersion}) to ${dataDirectory}\n`,
    )
    for (const aside of asides) print(terminal, `what was there before is in ${aside}\n`)
  })
}
