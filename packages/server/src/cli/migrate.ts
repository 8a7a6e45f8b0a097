import { Command } from 'commander'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { applyMigrations } from '../project/migrations/apply.ts'
import { checkMigrations, describeChecked } from '../project/migrations/check.ts'
import { commitCurrent } from '../project/migrations/current.ts'
import { createMigrationFile, readMigrationFiles } from '../project/migrations/files.ts'
import { deleteUnfinished, finish } from '../project/migrations/ledger.ts'
import { pullMigrations } from '../project/migrations/pull.ts'
import { describeStatus, readStatus } from '../project/migrations/status.ts'
import {
  createSubcommand,
  type JsonOption,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  warn,
  withConfigFlags,
} from './context.ts'
import { withDatabase } from './with-database.ts'

export function migrateCommands(terminal: Terminal): Command {
  return new Command('migrate')
    .description('manage the migrations of your schema, the files of project.migrations')
    .addCommand(newCommand(terminal))
    .addCommand(upCommand(terminal))
    .addCommand(statusCommand(terminal))
    .addCommand(checkCommand(terminal))
    .addCommand(resolveCommand(terminal))
    .addCommand(commitCommand(terminal))
    .addCommand(pullCommand(terminal))
}

function newCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'new')
    .description('create an empty migration and print its path')
    .argument('<name>', 'its purpose, such as add_todo')
    .option('--json', 'print {"path"}')
  return withConfigFlags(command).action(async (name: string, { json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const path = createMigrationFile(config.project.migrations, name, systemClock.now())
    if (json === true) printJson(terminal, { path })
    else print(terminal, `${path}\n`)
  })
}

interface UpOptions extends JsonOption {
  readonly allowLate?: boolean
  readonly acceptDrift?: boolean
}

function upCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'up')
    .description('apply pending migrations in order')
    .option('--allow-late', 'apply migrations that are older than an applied one, too')
    .option('--accept-drift', 'accept the current schema as that of the migrations')
    .option('--json', 'print {"applied": [{"name", "durationMs", "attempts"}]}')
  return withConfigFlags(command).action(async ({ allowLate, acceptDrift, json }: UpOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const files = readMigrationFiles(config.project.migrations)
    for (const { name, statements } of files) {
      if (statements.length === 0) warn(terminal, `${name} has no statement yet`)
    }
    const applied = await withDatabase(config, 'basalt migrate', (database) =>
      applyMigrations(database, {
        files,
        settings: config.project,
        allowLate: allowLate === true,
        acceptDrift: acceptDrift === true,
        onApplied({ name, durationMs }) {
          if (json !== true) print(terminal, `applied ${name} (${durationMs} ms)\n`)
        },
        onRetry: (message) => warn(terminal, message),
      }),
    )
    if (json === true) printJson(terminal, { applied })
    else if (applied.length === 0) print(terminal, 'nothing is pending\n')
  })
}

function statusCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'status')
    .description(
      'print applied and pending migrations and manual changes; exits with 1 when something is wrong',
    )
    .option('--json', 'print {"applied", "pending", "empty", "obstacles", "drift"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const files = readMigrationFiles(config.project.migrations)
    const status = await withDatabase(config, 'basalt migrate', ({ system }) => readStatus(system, files))
    if (json === true) printJson(terminal, status)
    else print(terminal, describeStatus(status))
    if (status.obstacles.length > 0 || status.drift.length > 0) terminal.exitCode = 1
  })
}

interface CheckOptions extends JsonOption {
  readonly allowLate?: boolean
  readonly interrupt?: boolean
}

function checkCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'check')
    .description(
      'run pending migrations on a copy, and print their locks, rewrites, changed relation names and new privileges',
    )
    .option('--allow-late', 'with migrations that are older than one that was applied')
    .option('--interrupt', 'end sessions in the database for the copy; in development this is the default')
    .option('--json', 'print {"copy", "migrations", "access", "relations"}')
  return withConfigFlags(command).action(async ({ allowLate, interrupt, json }: CheckOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    const files = readMigrationFiles(config.project.migrations)
    const checked = await checkMigrations(config, files, {
      allowLate: allowLate === true,
      interrupt: interrupt === true,
    })
    if (json === true) printJson(terminal, checked)
    else print(terminal, describeChecked(checked))
  })
}

function commitCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'commit')
    .description('make schema/current.sql a migration, and empty it')
    .argument('<name>', 'its purpose, such as add_todo')
    .option('--json', 'print {"path"}')
  return withConfigFlags(command).action(async (name: string, { json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const path = commitCurrent(config.project, name, systemClock.now())
    if (json === true) printJson(terminal, { path })
    else print(terminal, `${path}\n`)
  })
}

function pullCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'pull')
    .description('write applied migrations that the folder lacks, such as those of the dashboard')
    .option('--json', 'print {"paths"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const paths = await withDatabase(config, 'basalt migrate', ({ system }) =>
      pullMigrations(system, config.project.migrations),
    )
    if (json === true) printJson(terminal, { paths })
    else print(terminal, paths.length === 0 ? 'nothing is missing\n' : `${paths.join('\n')}\n`)
  })
}

interface ResolveOptions extends JsonOption {
  readonly applied?: boolean
  readonly pending?: boolean
}

function resolveCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'resolve')
    .description('record the result of an interrupted migration without a transaction')
    .argument('<file>', 'such as 20261122093000_add_index.sql')
    .option('--applied', 'you have finished it by hand')
    .option('--pending', 'you have undone it by hand; it runs again')
    .option('--json', 'print {"name", "state"}')
  return withConfigFlags(command).action(async (name: string, { applied, pending, json }: ResolveOptions) => {
    if ((applied === true) === (pending === true)) {
      throw new OperatorError('resolve needs --applied or --pending', { exitCode: 2 })
    }
    const { config } = loadCommandConfig(terminal, command)
    const file = readMigrationFiles(config.project.migrations).find((each) => each.name === name)
    const isResolved = await withDatabase(config, 'basalt migrate', ({ system }) =>
      applied === true ? finish(system, name, file?.statements.length ?? 0) : deleteUnfinished(system, name),
    )
    if (!isResolved) throw new OperatorError(`${name} is not interrupted`)
    const state = applied === true ? 'applied' : 'pending'
    if (json === true) printJson(terminal, { name, state })
    else print(terminal, `${name} counts as ${state}\n`)
  })
}
