import { Command } from 'commander'
import {
  checkStorage,
  openByteStore,
  removeOrphans,
  type StorageReport,
  StoreFailed,
} from '../features/files/storage/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import {
  createSubcommand,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { withDatabase } from './with-database.ts'

/** Creates `basalt storage`, which checks the stored bytes of files. */
export function storageCommands(terminal: Terminal): Command {
  return new Command('storage').description('manage files of users').addCommand(checkCommand(terminal))
}

function checkCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'check')
    .description(
      'compare the stored bytes of files with the rows of the database; fails when bytes are lost or orphaned',
    )
    .option('--repair', 'remove orphaned bytes')
    .option('--json', 'print JSON')
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const { repair = false, json = false } = command.opts<{ repair?: boolean; json?: boolean }>()
    try {
      await withDatabase(config, 'basalt storage check', async ({ system }) => {
        const storage = { database: system, store: openByteStore(config, systemClock) }
        const report = await checkStorage(storage)
        if (repair) {
          requireSameStorage(report)
          await removeOrphans(storage, report)
        }
        if (json) printJson(terminal, report)
        else print(terminal, describe(report, repair))
        const isClean = report.lost.length === 0 && (repair || report.orphans.length === 0)
        if (!isClean) terminal.exitCode = 1
      })
    } catch (error) {
      throw error instanceof StoreFailed ? new OperatorError(error.message, { cause: error }) : error
    }
  })
}

/**
 * Rejects a report in which everything is an orphan, because the path or the database is wrong.
 *
 * @throws OperatorError
 */
function requireSameStorage({ objects, lost, orphans }: StorageReport): void {
  if (orphans.length === 0 || objects > lost.length) return
  throw new OperatorError(
    'nothing was removed: no object of the database has its bytes here; check database.url and the keys of storage',
  )
}

function describe(
  { objects, bytes, lost, orphans, doomed, staged }: StorageReport,
  isRepaired: boolean,
): string {
  const lines = [
    `${objects} objects, ${bytes} bytes`,
    `${lost.length} lost`,
    ...lost.map(({ bucket, name, foundSize }) =>
      foundSize === null
        ? `  ${bucket}/${name}: no bytes`
        : `  ${bucket}/${name}: ${foundSize} bytes are there`,
    ),
    `${orphans.length} left over${isRepaired && orphans.length > 0 ? ', removed' : ''}`,
    ...orphans.map((key) => `  ${key}`),
    `${doomed} to be removed, ${staged} uploads not finished`,
  ]
  return `${lines.join('\n')}\n`
}
