import { Command } from 'commander'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import type { Relation } from '../database/catalog/model.ts'
import { captureTable, releaseTable } from '../features/events/outbox/index.ts'
import { recordAudit } from '../features/operations/audit/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { commandActor } from './admin-session.ts'
import { createSubcommand, loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { withDatabase } from './with-database.ts'

export function eventsCommands(terminal: Terminal): Command {
  return new Command('events')
    .description('events of changes that plain SQL makes')
    .addCommand(
      tableCommand(terminal, {
        name: 'capture',
        description: 'make changes by plain SQL events too (by triggers on the table)',
        work: captureTable,
        done: 'changes by plain SQL are events now',
      }),
    )
    .addCommand(
      tableCommand(terminal, {
        name: 'release',
        description: 'undo events capture',
        work: releaseTable,
        done: 'changes by plain SQL are no events',
      }),
    )
}

interface TableCommand {
  readonly name: string
  readonly description: string
  readonly work: typeof captureTable
  readonly done: string
}

function tableCommand(terminal: Terminal, { name, description, work, done }: TableCommand): Command {
  const command = createSubcommand(terminal, name)
    .description(description)
    .argument('<table>', 'the collection; outside public with its schema')
  return withConfigFlags(command).action(async (collection: string) => {
    const { config } = loadCommandConfig(terminal, command)
    await withDatabase(config, `basalt events ${name}`, async ({ system }) => {
      const catalog = await system.transaction((transaction) =>
        loadCatalog(transaction, catalogScopeOf(config), systemClock.now()),
      )
      const relation = requireTable(catalog.relations.get(collection), collection)
      await system.transaction(async (transaction) => {
        await work(transaction, relation)
        await recordAudit(transaction, {
          actor: commandActor,
          action: `events.${name}`,
          target: relation.collection,
        })
      })
      print(terminal, `${collection}: ${done}\n`)
    })
  })
}

function requireTable(relation: Relation | undefined, collection: string): Relation {
  if (relation === undefined) throw new OperatorError(`collection not found: ${collection}`)
  if (relation.kind === 'table' || relation.kind === 'partitioned_table') return relation
  throw new OperatorError(
    `${collection} is a ${relation.kind.replace('_', ' ')}: only changes of tables are events`,
  )
}
