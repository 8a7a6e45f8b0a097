import { Command, CommanderError } from 'commander'
import { outputOf, type Terminal } from './cli/context.ts'
import { codeOf, messageOf, OperatorError } from './lib/errors.ts'
import { readVersion } from './package.ts'

/**
 * Loaders of the commands. Each loads only its own modules: the server's take 0.4 s of processor time, three
 * times as much as `basalt sql` needs without them.
 */
const commands: Readonly<Record<string, () => Promise<(terminal: Terminal) => Command>>> = {
  start: async () => (await import('./cli/start.ts')).startCommand,
  sql: async () => (await import('./cli/sql.ts')).sqlCommand,
  schema: async () => (await import('./cli/schema.ts')).schemaCommand,
  types: async () => (await import('./cli/types.ts')).typesCommand,
  config: async () => (await import('./cli/config.ts')).configCommand,
  status: async () => (await import('./cli/status.ts')).statusCommand,
  doctor: async () => (await import('./cli/doctor.ts')).doctorCommand,
  reload: async () => (await import('./cli/reload.ts')).reloadCommand,
  backup: async () => (await import('./cli/backup.ts')).backupCommand,
  restore: async () => (await import('./cli/restore.ts')).restoreCommand,
  admin: async () => (await import('./cli/admin.ts')).adminCommands,
  'clean-up': async () => (await import('./cli/clean-up.ts')).cleanUpCommand,
  apps: async () => (await import('./cli/programs.ts')).appsCommands,
  keys: async () => (await import('./cli/programs.ts')).keysCommands,
  usage: async () => (await import('./cli/usage.ts')).usageCommand,
  logs: async () => (await import('./cli/logs.ts')).logsCommand,
  audit: async () => (await import('./cli/audit.ts')).auditCommand,
  advisors: async () => (await import('./cli/advisors.ts')).advisorsCommand,
  search: async () => (await import('./cli/search.ts')).searchCommands,
  dev: async () => (await import('./cli/dev.ts')).devCommand,
  init: async () => (await import('./cli/init.ts')).initCommand,
  adopt: async () => (await import('./cli/adopt.ts')).adoptCommand,
  policy: async () => (await import('./cli/policy.ts')).policyCommands,
  db: async () => (await import('./cli/db.ts')).dbCommands,
  migrate: async () => (await import('./cli/migrate.ts')).migrateCommands,
  import: async () => (await import('./cli/import.ts')).importCommand,
  export: async () => (await import('./cli/export.ts')).exportCommand,
  sites: async () => (await import('./cli/sites.ts')).sitesCommands,
  functions: async () => (await import('./cli/functions.ts')).functionsCommands,
  secrets: async () => (await import('./cli/secrets.ts')).secretsCommands,
  graphql: async () => (await import('./cli/graphql.ts')).graphqlCommands,
  events: async () => (await import('./cli/events.ts')).eventsCommands,
  storage: async () => (await import('./cli/storage.ts')).storageCommands,
}

/** Commands that other commands run, and that neither the help nor suggestions name. */
const internalCommands: typeof commands = {
  worker: async () => (await import('./cli/worker.ts')).workerCommand,
  'function-tests': async () => (await import('./cli/functions/test-server.ts')).functionTestsCommand,
}

/**
 * Runs a command: argv → command → exit code: 0 done, 1 failed, 2 wrong usage. Errors are one line on standard
 * error.
 */
export async function main(terminal: Terminal): Promise<void> {
  let hasReported = false
  const report = (message: string) => {
    terminal.exitCode = 1
    if (!hasReported) terminal.stderr.write(`basalt: ${message}\n`)
    hasReported = true
  }
  // A reader may stop reading, as in `basalt sql … | head`, which is no failure.
  terminal.stdout.on('error', (error) => {
    if (codeOf(error) !== 'EPIPE') report(`cannot write to standard output: ${messageOf(error)}`)
  })
  terminal.stderr.on('error', () => undefined)
  const program = await createProgram(terminal)
  try {
    await program.parseAsync(terminal.argv)
  } catch (error) {
    if (!(error instanceof CommanderError)) report(describe(error))
    terminal.exitCode = exitCodeOf(error)
  }
}

async function createProgram(terminal: Terminal): Promise<Command> {
  const version = readVersion()
  const program = new Command('basalt')
    .description('Turns a PostgreSQL database into a complete application backend.')
    .version(version, '-v, --version', 'print the version')
    .configureOutput(outputOf(terminal))
    .exitOverride()
    .showSuggestionAfterError()
  for (const load of commandsOf(terminal)) program.addCommand((await load())(terminal))
  program
    .command('version')
    .description('print the version')
    .action(() => {
      terminal.stdout.write(`${version}\n`)
    })
  for (const command of program.commands) command.exitOverride().configureOutput(outputOf(terminal))
  return program
}

/** Returns the named command, or all of them for the help and for suggestions. */
function commandsOf({ argv: [, , name = ''] }: Terminal) {
  if (['version', '-v', '--version'].includes(name)) return []
  const known = { ...commands, ...internalCommands }
  const named = Object.hasOwn(known, name) ? known[name] : undefined
  return named === undefined ? Object.values(commands) : [named]
}

function exitCodeOf(error: unknown): number {
  if (error instanceof OperatorError) return error.exitCode
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return 1
}

/**
 * Formats an error. A mistake of the operator has a message of its own; a fault of ours has its stack, because
 * it should be reported.
 */
function describe(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : messageOf(error)
}
