import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { sortNaturally } from '../../../database/natural-order.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { AppError } from '../../../lib/errors.ts'
import { keyOf, toSettings } from './definitions.ts'
import { type IndexRow, listIndexes } from './index-queries.ts'
import type { IndexChanges, Indexer } from './indexer.ts'
import * as queries from './queries.ts'
import { requiredIndexes, requireIndexable } from './required-indexes.ts'
import { requireAccents } from './settings.ts'
import type { IndexStatus } from './status.ts'

export interface IndexingDeps {
  readonly database: SystemDatabase
  readonly indexer: Indexer
  /** Returns the qualified name of the text search configuration. */
  readonly config: () => string
  /** Default for tables without a decision. */
  readonly ignoresAccents: boolean
}

/**
 * Creates the functions that decide which indexes a collection has, and have them built. The server and the command
 * line both use them.
 */
export function createIndexing({ database, indexer, config, ignoresAccents }: IndexingDeps) {
  async function settingsOf(relation: Relation) {
    return await queries.findSearchRow(database, tableOf(relation))
  }

  /** @throws AppError search_index_unsupported, search_index_build_in_progress, search_index_failed */
  async function build(catalog: Catalog, relation: Relation, signal?: AbortSignal): Promise<IndexChanges> {
    requireIndexable(relation)
    const settings = await settingsOf(relation)
    // The index was disabled after the job was enqueued.
    if (settings?.is_indexed === false) return { built: [], dropped: [], durationMs: 0 }
    const required = requiredIndexes(catalog, relation, toSettings(settings, { ignoresAccents }), config())
    try {
      const changes = await indexer.apply(relation, required, signal)
      if (changes.built.length > 0) {
        await queries.recordBuild(database, tableOf(relation), {
          durationMs: changes.durationMs,
          error: null,
        })
      }
      return changes
    } catch (error) {
      if (error instanceof AppError && error.kind === 'search_index_failed') {
        const reason = String(error.extras.data?.reason ?? error.message)
        await queries.recordBuild(database, tableOf(relation), { durationMs: null, error: reason })
      }
      throw error
    }
  }

  return {
    build,

    async enable(catalog: Catalog, relation: Relation): Promise<IndexChanges> {
      requireIndexable(relation)
      await queries.setIndexed(database, tableOf(relation), true)
      return await build(catalog, relation)
    },

    /**
     * Stores whether searches of the collection ignore accents. Its indexes have to be built afterwards.
     *
     * @throws AppError invalid_search_settings
     */
    async setAccents(transaction: Queryable, relation: Relation, ignoresAccents: boolean): Promise<void> {
      if (ignoresAccents) requireAccents(relation)
      await queries.setAccents(transaction, tableOf(relation), ignoresAccents)
    },

    /** Returns true if indexes of the collection were requested. */
    async isEnabled(relation: Relation): Promise<boolean> {
      return (await settingsOf(relation))?.is_indexed === true
    },

    async disable(relation: Relation): Promise<IndexChanges> {
      await queries.setIndexed(database, tableOf(relation), false)
      return await indexer.apply(relation, [])
    },

    /** Lists the status of the collections with indexes or settings, and of the named ones. */
    async list(catalog: Catalog, named: ReadonlySet<string> = new Set()): Promise<IndexStatus[]> {
      const [rows, indexes] = await Promise.all([
        queries.listSearchRows(database),
        listIndexes(database, catalog.schemas),
      ])
      // There may be a row for each table.
      const rowOf = new Map(rows.map((row) => [keyOf(row.schema_name, row.table_name), row]))
      const statuses = [...catalog.relations.values()].flatMap((relation) => {
        const row = rowOf.get(keyOf(relation.schema, relation.name))
        const own = indexes.filter((each) => isOf(relation, each))
        if ((row === undefined || isOlder(row)) && own.length === 0 && !named.has(relation.collection))
          return []
        const required = requiredIndexes(catalog, relation, toSettings(row, { ignoresAccents }), config())
        return [describeIndexes(relation, row, own, required)]
      })
      return sortNaturally(statuses, ({ collection }) => collection)
    },
  }
}

export type Indexing = ReturnType<typeof createIndexing>

function describeIndexes(
  relation: Relation,
  row: queries.SearchRow | undefined,
  own: readonly IndexRow[],
  required: ReturnType<typeof requiredIndexes>,
): IndexStatus {
  const { collection } = relation
  const isIndexed =
    required.length > 0 &&
    required.every(({ name }) => own.some((each) => each.name === name && each.is_valid))
  const isEnabled = row?.is_indexed ?? null
  const isWorthwhile = required.length > 0 && !isIndexed && isEnabled !== false
  return {
    collection,
    isEnabled,
    isIndexed,
    indexes: own.map(({ name, is_valid, size_bytes, progress }) => ({
      name,
      kind: name.startsWith('idx_basalt_trigram_') ? 'trigrams' : 'words',
      state: is_valid ? 'valid' : progress === null ? 'invalid' : 'building',
      sizeBytes: Number(size_bytes),
      progress,
    })),
    lastBuild:
      row?.built_at == null ? null : { at: row.built_at, durationMs: row.build_ms, error: row.build_error },
    advice: isWorthwhile ? adviceFor(collection) : null,
  }
}

/** Returns true for a row without a choice of an administrator, as the migration has written for older tables. */
function isOlder(row: queries.SearchRow): boolean {
  const { ignores_accents, is_indexed, built_at, build_error, attributes, custom_ranking, synonyms } = row
  return (
    ignores_accents === false &&
    [is_indexed, built_at, build_error].every((value) => value === null) &&
    [attributes, custom_ranking, synonyms].every((list) => list.length === 0)
  )
}

/** Returns the command that makes searches of a collection fast. */
export function adviceFor(collection: string): string {
  return `basalt search enable ${collection}`
}

function isOf({ schema, name }: Relation, row: { schema_name: string; table_name: string }): boolean {
  return row.schema_name === schema && row.table_name === name
}

export function tableOf({ schema, name }: Pick<Relation, 'schema' | 'name'>) {
  return { schema_name: schema, table_name: name }
}
