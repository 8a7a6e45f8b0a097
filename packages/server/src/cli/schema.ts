import { Command } from 'commander'
import { loadCatalog } from '../database/catalog/load.ts'
import type { Relation } from '../database/catalog/model.ts'
import { openConnection } from '../database/open.ts'
import { inTransaction } from '../database/system-database.ts'
import { describeCatalog } from '../features/schema/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'

export function schemaCommand(terminal: Terminal): Command {
  const command = new Command('schema')
    .description('print the collections, or the columns of one')
    .argument('[collection]', 'a table or view')
    .option('--json', 'print the document of GET /api/schema')
  return withConfigFlags(command).action(
    async (collection: string | undefined, options: { json?: boolean }) => {
      const { config } = loadCommandConfig(terminal, command)
      const { connection, close } = await openConnection(config, {
        purpose: 'basalt schema',
        log: () => undefined,
      })
      try {
        const catalog = await inTransaction(connection, (transaction) =>
          loadCatalog(transaction, config.database.schemas, systemClock.now()),
        )
        if (options.json === true) {
          terminal.stdout.write(
            `${JSON.stringify(describeCatalog(catalog, 'administrator'), undefined, 2)}\n`,
          )
          return
        }
        if (collection === undefined) {
          terminal.stdout.write(listRelations([...catalog.relations.values()]))
          return
        }
        const relation = catalog.relations.get(collection)
        if (relation === undefined) throw new OperatorError(`collection not found: ${collection}`)
        terminal.stdout.write(listColumns(relation))
      } finally {
        await close()
      }
    },
  )
}

function listRelations(relations: readonly Relation[]): string {
  const rows = relations
    .toSorted((one, other) => (one.collection < other.collection ? -1 : 1))
    .map(({ collection, kind, columns, rlsEnabled, relationships }) => [
      collection,
      kind.replace('_', ' '),
      String(columns.length),
      rlsEnabled ? 'yes' : 'no',
      [...relationships.keys()].join(', '),
    ])
  return formatTable(['collection', 'kind', 'columns', 'rls', 'expand'], rows)
}

function listColumns({ columns, primaryKey }: Relation): string {
  const rows = columns.map((column) => [
    column.name,
    column.typeName,
    column.nullable ? '' : 'not null',
    primaryKey.includes(column) ? 'primary key' : '',
    column.default ?? (column.isGenerated ? 'generated' : (column.identity ?? '')),
  ])
  return formatTable(['column', 'type', 'null', 'key', 'default'], rows)
}
