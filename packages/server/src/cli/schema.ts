import { Command } from 'commander'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import type { Catalog, Relation } from '../database/catalog/model.ts'
import { openConnection } from '../database/open.ts'
import { inTransaction } from '../database/system-database.ts'
import { describeCatalog } from '../features/data/schema/index.ts'
import { systemClock } from '../lib/clock.ts'
import { OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { formatTable } from './table.ts'

export function schemaCommand(terminal: Terminal): Command {
  const command = new Command('schema')
    .description('print the collections, or the columns of one')
    .argument('[collection]', 'table or view')
    .option('--json', "print the document of GET /api/schema, or the collection's part")
  return withConfigFlags(command).action(
    async (collection: string | undefined, options: { json?: boolean }) => {
      const { config } = loadCommandConfig(terminal, command)
      const { connection, close } = await openConnection(config, {
        purpose: 'basalt schema',
        log: () => undefined,
      })
      try {
        const catalog = await inTransaction(connection, (transaction) =>
          loadCatalog(transaction, catalogScopeOf(config), systemClock.now()),
        )
        const relation = collection === undefined ? undefined : findRelation(catalog, collection)
        print(terminal, options.json === true ? describe(catalog, relation) : list(catalog, relation))
      } finally {
        await close()
      }
    },
  )
}

/** Finds a collection. @throws OperatorError when it does not exist */
export function findRelation({ relations }: Catalog, collection: string): Relation {
  const relation = relations.get(collection)
  if (relation === undefined) throw new OperatorError(`collection not found: ${collection}`)
  return relation
}

function describe(catalog: Catalog, relation: Relation | undefined): string {
  const document = describeCatalog(catalog, 'administrator')
  const part = relation === undefined ? document : document.tables[`${relation.schema}.${relation.name}`]
  return `${JSON.stringify(part, undefined, 2)}\n`
}

function list({ relations }: Catalog, relation: Relation | undefined): string {
  return relation === undefined ? listRelations([...relations.values()]) : listColumns(relation)
}

function listRelations(relations: readonly Relation[]): string {
  const rows = relations
    .toSorted((one, other) => (one.collection < other.collection ? -1 : 1))
    .map(({ collection, kind, columns, rlsEnabled, relationships }) => [
      collection,
      kind.replaceAll('_', ' '),
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
