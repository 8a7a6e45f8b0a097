import { Command } from 'commander'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import type { Relation } from '../database/catalog/model.ts'
import { describeCapture } from '../features/events/outbox/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { createSubcommand, loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'
import { withDatabase } from './with-database.ts'

export function eventsCommands(terminal: Terminal): Command {
  return new Command('events')
    .description('show the changes that are events')
    .addCommand(listCommand(terminal))
    .addCommand(earlierCommand(terminal, 'capture', 'obsolete: changes are events by any writer'))
    .addCommand(earlierCommand(terminal, 'release', 'obsolete: triggers are dropped with the last listener'))
}

/** Creates the command that lists how changes of each collection with a listener are logged. */
function listCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'list').description(
    'list collections with a listener, and how their changes are logged',
  )
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, 'basalt events list', async ({ system }) => {
      const catalog = await system.transaction((transaction) =>
        loadCatalog(transaction, config.database, systemClock.now()),
      )
      const found = await describeCapture(system, catalog, { isEnabled: config.events.capture === 'on' })
      const rows = found.map(({ collection, actions, apiOnly }) => [
        collection,
        actions.join(', '),
        apiOnly === undefined ? 'by any writer' : `by the API alone: ${apiOnly.reason}`,
      ])
      if (rows.length === 0) print(terminal, 'nothing listens to changes\n')
      else print(terminal, formatTable(['collection', 'actions', 'changes'], rows))
    })
  })
}

/** Creates an obsolete command, which scripts may still run. */
function earlierCommand(terminal: Terminal, name: string, description: string): Command {
  const command = createSubcommand(terminal, name)
    .description(description)
    .argument('<table>', 'collection; outside public with its schema')
  return withConfigFlags(command).action(async (collection: string) => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, `basalt events ${name}`, async ({ system }) => {
      const catalog = await system.transaction((transaction) =>
        loadCatalog(transaction, catalogScopeOf(config), systemClock.now()),
      )
      requireTable(catalog.relations.get(collection), collection)
      print(
        terminal,
        `${collection}: nothing to do: changes are events, by any writer, while something listens; a comment on the table with @events off leaves out those past the API\n`,
      )
    })
  })
}

function requireTable(relation: Relation | undefined, collection: string): void {
  if (relation === undefined) throw new OperatorError(`collection not found: ${collection}`)
  if (relation.kind === 'table' || relation.kind === 'partitioned_table') return
  throw new OperatorError(
    `${collection} is a ${relation.kind.replace('_', ' ')}: only changes of tables are events`,
  )
}
