import { join } from 'node:path'
import { Command } from 'commander'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import { readCaseFiles, scaffoldCases, writeCaseFile } from '../features/data/policies/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { readMigrationFiles } from '../project/migrations/files.ts'
import type { CaseOutcome } from '../project/policies/run.ts'
import {
  createSubcommand,
  type JsonOption,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { openPolicyTester } from './policy-server.ts'
import { withDatabase } from './with-database.ts'

export function policyCommands(terminal: Terminal): Command {
  return new Command('policy')
    .description('test the access that your policies and grants permit, by the files of project.policies')
    .addCommand(testCommand(terminal))
    .addCommand(scaffoldCommand(terminal))
}

function scaffoldCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'scaffold')
    .description('write a starter for the cases of a table, unless its file exists')
    .argument('<collection>', 'table of the database')
    .option('--json', 'print {"path"}')
  return withConfigFlags(command).action(async (collection: string, { json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const catalog = await withDatabase(config, 'basalt policy', ({ system }) =>
      system.transaction((transaction) =>
        loadCatalog(transaction, catalogScopeOf(config), systemClock.now()),
      ),
    )
    const path = join(config.project.policies, `${collection.replaceAll(/[^\w.-]/g, '_')}.toml`)
    writeCaseFile(path, scaffoldCases(catalog, collection))
    if (json === true) printJson(terminal, { path })
    else print(terminal, `${path}\n`)
  })
}

function testCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'test')
    .description('run the cases on a temporary database with the migrations and schema/current.sql')
    .option('--json', 'print {"passed", "failed", "cases"}')
  return withConfigFlags(command).action(async ({ json }: JsonOption) => {
    const { config } = loadCommandConfig(terminal, command)
    const files = readCaseFiles(config.project.policies)
    if (files.length === 0) {
      throw new OperatorError(
        `${config.project.policies} has no cases: basalt policy scaffold TABLE writes a starter`,
      )
    }
    await using tester = await openPolicyTester(config)
    const outcomes = await tester.run(readMigrationFiles(config.project.migrations), files)
    const failed = outcomes.filter(({ passed }) => !passed).length
    if (json === true) printJson(terminal, { passed: outcomes.length - failed, failed, cases: outcomes })
    else print(terminal, describeOutcomes(outcomes))
    if (failed > 0) terminal.exitCode = 1
  })
}

/** Formats the results for people. */
function describeOutcomes(outcomes: readonly CaseOutcome[]): string {
  const lines = [...Map.groupBy(outcomes, ({ file }) => file)].flatMap(([file, cases]) => [
    file,
    ...cases.flatMap(({ name, passed, request, expected, actual }) =>
      passed
        ? [`  ✓ ${name}`]
        : [`  ✗ ${name}`, `      ${request}`, `      expected  ${expected}`, `      actual    ${actual}`],
    ),
  ])
  const failed = outcomes.filter(({ passed }) => !passed).length
  return `${[...lines, `${outcomes.length - failed} passed, ${failed} failed`].join('\n')}\n`
}
