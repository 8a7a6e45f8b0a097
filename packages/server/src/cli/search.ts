import { setTimeout as delay } from 'node:timers/promises'
import { Argument, Command } from 'commander'
import type { Config } from '../configuration.ts'
import { catalogScopeOf, loadCatalog } from '../database/catalog/load.ts'
import type { Catalog } from '../database/catalog/model.ts'
import type { SystemDatabase } from '../database/system-database.ts'
import {
  createIndexer,
  createIndexing,
  type IndexChanges,
  type Indexing,
  type IndexStatus,
  ignoresAccentsByDefault,
  resolveConfig,
} from '../features/data/search/index.ts'
import { recordAudit } from '../features/operations/audit/index.ts'
import { systemClock } from '../lib/clock.ts'
import { AppError, OperatorError } from '../lib/errors.ts'
import { commandActor } from './admin-session.ts'
import {
  createSubcommand,
  loadCommandConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { findRelation } from './schema.ts'
import { formatBytes, formatTable } from './table.ts'
import { withDatabase } from './with-database.ts'

/** Creates `basalt search`, which manages the indexes for searches, with or without a running server. */
export function searchCommands(terminal: Terminal): Command {
  const change = (name: 'enable' | 'disable', description: string) => {
    const command = createSubcommand(terminal, name).description(description).argument('<collection>')
    return withConfigFlags(command).action(async (collection: string) => {
      const { config } = loadCommandConfig(terminal, command)
      await withIndexing(config, async (indexing, read, system) => {
        const catalog = await read()
        const relation = findRelation(catalog, collection)
        const changes = await whenNoOtherBuilds(() =>
          name === 'enable' ? indexing.enable(catalog, relation) : indexing.disable(relation),
        )
        await recordAudit(system, {
          actor: commandActor,
          action: `search.${name}`,
          target: relation.collection,
          detail: { ...changes },
        })
        const status = await indexing.list(await read())
        print(terminal, describeChanges(collection, changes, status))
      })
    })
  }
  const accents = createSubcommand(terminal, 'accents')
    .description('ignore accents in searches of a collection, or respect them')
    .argument('<collection>')
    .addArgument(new Argument('<choice>').choices(['ignore', 'respect']))
  withConfigFlags(accents).action(async (collection: string, choice: 'ignore' | 'respect') => {
    const { config } = loadCommandConfig(terminal, accents)
    await withIndexing(config, async (indexing, read, system) => {
      const catalog = await read()
      const relation = findRelation(catalog, collection)
      const ignoreAccents = choice === 'ignore'
      await system.transaction(async (transaction) => {
        await indexing.setAccents(transaction, relation, ignoreAccents)
        await recordAudit(transaction, {
          actor: commandActor,
          action: 'search_settings.accents',
          target: relation.collection,
          detail: { ignoreAccents },
        })
      })
      print(terminal, `${relation.collection}: searches ${choice} accents\n`)
      if (!(await indexing.isEnabled(relation))) return
      const changes = await whenNoOtherBuilds(() => indexing.build(catalog, relation))
      print(terminal, describeChanges(collection, changes, await indexing.list(await read())))
    })
  })
  const status = createSubcommand(terminal, 'status')
    .description('print the search indexes of all collections, or of one')
    .argument('[collection]')
    .option('--json', 'print a JSON array of objects')
  withConfigFlags(status).action(async (collection: string | undefined, { json }: { json?: boolean }) => {
    const { config } = loadCommandConfig(terminal, status)
    await withIndexing(config, async (indexing, read) => {
      const catalog = await read()
      const named = collection === undefined ? [] : [findRelation(catalog, collection).collection]
      const all = await indexing.list(catalog, new Set(named))
      const shown = named.length === 0 ? all : all.filter((each) => named.includes(each.collection))
      if (json === true) printJson(terminal, shown)
      else print(terminal, describeStatus(shown))
    })
  })
  return new Command('search')
    .description('create, drop and show the indexes for searches')
    .addCommand(change('enable', 'create the indexes of a collection, without blocking readers and writers'))
    .addCommand(change('disable', 'drop them'))
    .addCommand(accents)
    .addCommand(status)
}

async function withIndexing(
  config: Config,
  work: (indexing: Indexing, read: () => Promise<Catalog>, system: SystemDatabase) => Promise<void>,
): Promise<void> {
  try {
    await withDatabase(config, 'basalt search', async (database) => {
      const { system } = database
      const name = await resolveConfig(system, config.api.text_search_config)
      const indexing = createIndexing({
        database: system,
        indexer: createIndexer(database),
        config: () => name,
        ignoresAccents: ignoresAccentsByDefault(database.engine),
      })
      const read = () =>
        system.transaction((transaction) =>
          loadCatalog(transaction, catalogScopeOf(config), systemClock.now()),
        )
      await work(indexing, read, system)
    })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { reason } = error.extras.data ?? {}
    const message = typeof reason === 'string' ? `${error.message}: ${reason}` : error.message
    throw new OperatorError(message, { cause: error })
  }
}

const pauseMs = 500

/** Retries while another process builds indexes. If that builds the same ones, less is left to do. */
async function whenNoOtherBuilds(work: () => Promise<IndexChanges>): Promise<IndexChanges> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof AppError) || !retriedKinds.has(error.kind)) throw error
      await delay(pauseMs)
    }
  }
}

function describeChanges(
  collection: string,
  { built, dropped, durationMs }: IndexChanges,
  statuses: readonly IndexStatus[],
): string {
  const indexes = statuses.find((status) => status.collection === collection)?.indexes ?? []
  const lines = [
    ...built.map((name) => {
      const size = indexes.find((index) => index.name === name)?.sizeBytes ?? 0
      return `built ${name}, ${formatBytes(size)}`
    }),
    ...dropped.map((name) => `dropped ${name}`),
  ]
  if (lines.length === 0) return `${collection}: nothing to do\n`
  return `${lines.join('\n')}\n${collection}: done in ${(durationMs / 1000).toFixed(1)} s\n`
}

function describeStatus(statuses: readonly IndexStatus[]): string {
  const rows = statuses.flatMap(({ collection, indexes, advice }) =>
    indexes.length === 0
      ? [[collection, '', 'no index', '', advice ?? '']]
      : indexes.map(({ kind, state, sizeBytes, progress }) => [
          collection,
          kind,
          progress === null ? state : `${state} ${Math.round(progress * 100)} %`,
          formatBytes(sizeBytes),
          advice ?? '',
        ]),
  )
  return formatTable(['collection', 'index', 'state', 'size', 'advice'], rows)
}

const retriedKinds: ReadonlySet<string> = new Set(['search_index_build_in_progress', 'search_index_gave_way'])
