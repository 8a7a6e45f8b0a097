import { Command } from 'commander'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import { type Advice, listAdvice } from '../features/data/advisors/index.ts'
import {
  createIndexer,
  createIndexing,
  ignoresAccentsByDefault,
  resolveConfig,
} from '../features/data/search/index.ts'
import { describeCapture } from '../features/events/outbox/index.ts'
import { systemClock } from '../lib/clock.ts'
import { loadCommandConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { showControls } from './table.ts'
import { withDatabase } from './with-database.ts'

/**
 * Creates `basalt advisors`, which works with or without a running server. It exits with 1 when there is an
 * error.
 */
export function advisorsCommand(terminal: Terminal): Command {
  const command = new Command('advisors')
    .description(
      'print security, performance and health problems of the database, with the SQL that fixes them',
    )
    .option('--json', 'print a JSON array of objects')
    .option('--all', 'print dismissed problems, too')
  return withConfigFlags(command).action(async ({ json, all }: { json?: boolean; all?: boolean }) => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, 'basalt advisors', async (database) => {
      const { system } = database
      const now = systemClock.now()
      const catalog = await system.transaction((transaction) =>
        loadCatalog(transaction, catalogScopeOf(config), now),
      )
      const name = await resolveConfig(system, config.api.text_search_config)
      const indexer = createIndexer(database)
      const indexing = createIndexing({
        database: system,
        indexer,
        config: () => name,
        ignoresAccents: ignoresAccentsByDefault(database.engine),
      })
      const found = await listAdvice({
        database: system,
        catalog,
        listSearches: () => indexing.list(catalog),
        listCaptured: () => describeCapture(system, catalog, { isEnabled: config.events.capture === 'on' }),
      })
      const shown = all === true ? found : found.filter(({ dismissal }) => dismissal === null)
      if (json === true) printJson(terminal, shown)
      else print(terminal, describe(shown))
      if (found.some(({ severity, dismissal }) => severity === 'error' && dismissal === null))
        terminal.exitCode = 1
    })
  })
}

function describe(found: readonly Advice[]): string {
  if (found.length === 0) return 'nothing to mend\n'
  return found
    .map(({ severity, object, title, detail, explanation, statement, command, dismissal }) =>
      [
        `${severity}  ${showControls(object)}: ${title}${dismissal === null ? '' : ' (dismissed)'}`,
        `  ${explanation}`,
        ...(detail === null ? [] : [`  ${showControls(detail)}`]),
        ...(statement === null ? [] : [`  ${showControls(statement)}`]),
        ...(command === null ? [] : [`  ${command}`]),
        '',
      ].join('\n'),
    )
    .join('\n')
}
