import { basename } from 'node:path'
import { Command } from 'commander'
import { isDevelopment } from '../config/development.ts'
import type { Config } from '../configuration.ts'
import { branchUrl, describeUrl } from '../database/database-url.ts'
import { OperatorError } from '../lib/errors.ts'
import { openBranches } from '../project/databases/copies.ts'
import { describeDiff, diffSchema } from '../project/databases/diff.ts'
import { dumpSchema } from '../project/databases/dump.ts'
import { runFile } from '../project/databases/replay.ts'
import { requireDevelopment, resetDatabase } from '../project/databases/reset.ts'
import { readMigrationFiles } from '../project/migrations/files.ts'
import {
  createSubcommand,
  type JsonOption,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { withDatabase } from './with-database.ts'

export function dbCommands(terminal: Terminal): Command {
  return new Command('db')
    .description('manage the database of a project: copies, differences, rows for development')
    .addCommand(branchCommand(terminal))
    .addCommand(diffCommand(terminal))
    .addCommand(seedCommand(terminal))
    .addCommand(resetCommand(terminal))
    .addCommand(dumpCommand(terminal))
}

interface BranchOptions extends JsonOption {
  readonly delete?: boolean
  readonly interrupt?: boolean
}

function branchCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'branch')
    .description('copy the database, or list its copies; work on one by database.branch')
    .argument('[name]', 'name of the copy; without it, list the copies')
    .option('--delete', 'drop the copy instead')
    .option('--interrupt', 'end sessions in the database for the copy; in development this is the default')
    .option('--json', 'print {"branch", "database", "switch"}, or {"branches"}')
  return withConfigFlags(command).action(async (name: string | undefined, options: BranchOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    await using branches = await openBranches(config)
    if (name === undefined) {
      const list = await branches.list()
      if (options.json === true) printJson(terminal, { branches: list })
      else print(terminal, list.length === 0 ? 'no branches\n' : `${list.join('\n')}\n`)
      return
    }
    if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(name)) {
      throw new OperatorError(`"${name}": expected up to 32 lower-case letters, digits, _ and -`, {
        exitCode: 2,
      })
    }
    if (name.startsWith('tmp_')) {
      throw new OperatorError(`"${name}": tmp_ begins the names of copies that commands drop`, {
        exitCode: 2,
      })
    }
    if (options.delete === true) {
      if (!(await branches.list()).includes(name)) throw new OperatorError(`there is no branch ${name}`)
      await branches.drop(name)
      if (options.json === true) printJson(terminal, { branch: name, deleted: true })
      else print(terminal, `deleted ${name}\n`)
      return
    }
    await branches.copy(name, options.interrupt === true || isDevelopment(config))
    const switching = `BASALT_DATABASE_BRANCH=${name}`
    if (options.json === true) {
      printJson(terminal, { branch: name, database: locate(config, name), switch: switching })
    } else
      print(terminal, `copied to ${locate(config, name)}; work on it with\n  ${switching} npx basalt start\n`)
  })
}

function locate({ database }: Config, branch: string): string {
  return database.url === '' ? `basalt_${branch}` : describeUrl(branchUrl(database.url, branch))
}

function diffCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'diff')
    .description(
      'compare the schema with the migrations, applied to an empty database; exits with 1 when it differs',
    )
    .option('--json', 'print {"changes", "unseen", "notCompared"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const diff = await diffSchema(config, readMigrationFiles(config.project.migrations))
    if (json === true) printJson(terminal, diff)
    else print(terminal, describeDiff(diff))
    // Objects that cannot be compared may differ.
    if (diff.changes.length + diff.unseen.length > 0) terminal.exitCode = 1
  })
}

function seedCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'seed')
    .description('run project.seed in one transaction; only in development')
    .option('--json', 'print {"statements"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    requireDevelopment(config, 'basalt db seed')
    const statements = await withDatabase(config, 'basalt db', (database) =>
      runFile(database, config.project.seed),
    )
    if (json === true) printJson(terminal, { statements })
    else print(terminal, `${statements} statements of ${basename(config.project.seed)}\n`)
  })
}

function resetCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'reset')
    .description(
      'empty the database, including accounts, and recreate it from migrations and seed; only in development',
    )
    .option('--json', 'print {"applied", "seeded"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const reset = await resetDatabase(config, readMigrationFiles(config.project.migrations))
    if (json === true) printJson(terminal, reset)
    else {
      const { applied, seeded } = reset
      print(
        terminal,
        `${applied.length} migrations, ${seeded} statements of ${basename(config.project.seed)}\n`,
      )
    }
  })
}

interface DumpOptions {
  readonly rows?: boolean
  readonly pgDump: string
}

function dumpCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'dump')
    .description('print SQL that recreates your schemas, by pg_dump')
    .option('--rows', 'with the rows of tables')
    .option('--pg-dump <path>', "program to run, of the database's version or later", 'pg_dump')
  return withConfigFlags(command).action(async ({ rows, pgDump }: DumpOptions) => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, 'basalt db', async ({ engine, connectionString }) =>
      dumpSchema({
        connection: connectionString,
        serverMajor: Number.parseInt(engine.version, 10),
        isEmbedded: config.database.url === '',
        withRows: rows === true,
        program: pgDump,
        env: terminal.env,
        output: terminal.stdout,
      }),
    )
  })
}
