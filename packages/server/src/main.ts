import { Command, CommanderError } from 'commander'
import { adminCommands } from './cli/admin.ts'
import { auditCommand } from './cli/audit.ts'
import { backupCommand } from './cli/backup.ts'
import { cleanUpCommand } from './cli/clean-up.ts'
import { configCommand } from './cli/config.ts'
import type { Terminal } from './cli/context.ts'
import { eventsCommands } from './cli/events.ts'
import { logsCommand } from './cli/logs.ts'
import { programCommands } from './cli/programs.ts'
import { restoreCommand } from './cli/restore.ts'
import { schemaCommand } from './cli/schema.ts'
import { sqlCommand } from './cli/sql.ts'
import { startCommand } from './cli/start.ts'
import { statusCommand } from './cli/status.ts'
import { usageCommand } from './cli/usage.ts'
import { messageOf, OperatorError } from './lib/errors.ts'
import { readVersion } from './version.ts'

/** argv → command → exit code: 0 done, 1 failed, 2 wrong usage; errors are one line on standard error. */
export async function main(terminal: Terminal): Promise<void> {
  const program = createProgram(terminal)
  try {
    await program.parseAsync(terminal.argv)
  } catch (error) {
    terminal.exitCode = exitCodeOf(error)
    if (!(error instanceof CommanderError)) terminal.stderr.write(`basalt: ${describe(error)}\n`)
  }
}

function createProgram(terminal: Terminal): Command {
  const version = readVersion()
  const program = new Command('basalt')
    .description('Turns a PostgreSQL database into a complete application backend.')
    .version(version, '-v, --version', 'print the version')
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text.replace(/^error: /, 'basalt: ')),
    })
    .exitOverride()
    .showSuggestionAfterError()
  for (const command of [
    startCommand(terminal),
    sqlCommand(terminal),
    schemaCommand(terminal),
    configCommand(terminal),
    statusCommand(terminal),
    backupCommand(terminal),
    restoreCommand(terminal),
    adminCommands(terminal),
    cleanUpCommand(terminal),
    eventsCommands(terminal),
    usageCommand(terminal),
    logsCommand(terminal),
    auditCommand(terminal),
    ...programCommands(terminal),
  ]) {
    program.addCommand(command)
  }
  program
    .command('version')
    .description('print the version')
    .action(() => {
      terminal.stdout.write(`${version}\n`)
    })
  for (const command of program.commands) command.exitOverride().configureOutput(program.configureOutput())
  return program
}

function exitCodeOf(error: unknown): number {
  if (error instanceof OperatorError) return error.exitCode
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return 1
}

/** A mistake of the operator in its own words; a fault of ours with its stack, because it is to be reported. */
function describe(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
}
