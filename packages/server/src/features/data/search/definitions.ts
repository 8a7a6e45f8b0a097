import { callerRole } from '../../../database/caller/caller-scope.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { EngineProbe } from '../../../database/connection/probe.ts'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { codeOf, OperatorError } from '../../../lib/errors.ts'
import { plainSearch, type SearchDefinitions, type SearchSettings } from '../collections/index.ts'
import * as queries from './queries.ts'

const topic = 'search_settings'

export interface StoredDefinitionsDeps {
  readonly database: SystemDatabase
  readonly notifications: Notifications
  /** Configured name of the text search configuration. */
  readonly configName: string
  /** Default for tables without a decision. */
  readonly ignoresAccents: boolean
}

/** Stored settings of all collections, as they are in force on this node. */
export class StoredDefinitions implements SearchDefinitions {
  readonly #deps: StoredDefinitionsDeps
  readonly #watch: WatchHandle
  #config: string
  #version = ''
  #settings: ReadonlyMap<string, queries.SearchRow> = new Map()
  readonly #prefixFilters = new Map<string, Set<string>>()
  #onSearch: (relation: Relation) => void = () => undefined

  constructor(deps: StoredDefinitionsDeps) {
    this.#deps = deps
    this.#config = deps.configName
    this.#watch = deps.notifications.watch({
      topic,
      // There may be a row for each table. A change of one raises its version, and a deletion lowers the count.
      version: sql`select concat(count(*), ' ', sum(xmin::text::bigint)) from basalt.search_settings`,
      onChange: () => this.#read(),
    })
  }

  get config(): string {
    return this.#config
  }

  get version(): string {
    return this.#version
  }

  /** @throws OperatorError when the database has no such text search configuration */
  async start(): Promise<void> {
    this.#config = await resolveConfig(this.#deps.database, this.#deps.configName)
  }

  settingsOf(relation: Pick<Relation, 'schema' | 'name'>): SearchSettings {
    return toSettings(this.#settings.get(keyOf(relation.schema, relation.name)), this.#deps)
  }

  rowOf({ schema, name }: Pick<Relation, 'schema' | 'name'>): queries.SearchRow | undefined {
    return this.#settings.get(keyOf(schema, name))
  }

  /** Registers the listener of searches. */
  onSearch(listener: (relation: Relation) => void): void {
    this.#onSearch = listener
  }

  noteSearch(relation: Relation): void {
    this.#onSearch(relation)
  }

  /** Columns that requests on this node have filtered by their beginning, by collection. */
  get prefixFilters(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#prefixFilters
  }

  notePrefixFilter({ collection }: Relation, column: string): void {
    const columns = this.#prefixFilters.get(collection) ?? new Set()
    if (columns.size === 0) this.#prefixFilters.set(collection, columns)
    columns.add(column)
  }

  /** Polls the stored settings. All changes committed before the call are in force on this node when it resolves. */
  async poll(): Promise<void> {
    await this.#watch.poll()
  }

  async #read(): Promise<void> {
    const rows = await queries.listSearchRows(this.#deps.database)
    this.#settings = new Map(rows.map((row) => [keyOf(row.schema_name, row.table_name), row]))
    // Part of the keys of cached statements, so it is short.
    this.#version = `${rows.length} ${rows.reduce((sum, { version }) => sum + BigInt(version), 0n)}`
  }

  /** Applies a committed change: it is in force on this node when this resolves, and soon on the others. */
  async refresh(): Promise<void> {
    this.#deps.notifications.announce(topic)
    await this.poll()
  }
}

export function toSettings(
  row: queries.SearchRow | undefined,
  { ignoresAccents }: Pick<SearchSettings, 'ignoresAccents'>,
): SearchSettings {
  if (row === undefined) return { ...plainSearch, ignoresAccents }
  return {
    attributes: row.attributes,
    customRanking: row.custom_ranking,
    synonyms: row.synonyms,
    ignoresAccents: row.ignores_accents ?? ignoresAccents,
  }
}

/** Returns whether searches ignore accents by default. The workers of a distributed database lack our functions. */
export function ignoresAccentsByDefault({ isDistributed }: Pick<EngineProbe, 'isDistributed'>): boolean {
  return !isDistributed
}

/** Returns the quoted, qualified name. @throws OperatorError when callers cannot use such a configuration */
export async function resolveConfig(
  database: Pick<SystemDatabase, 'one' | 'many'>,
  configName: string,
): Promise<string> {
  try {
    const { name, schema, is_usable } = await queries.findTextSearchConfig(database, configName)
    if (is_usable) return name
    throw new OperatorError(
      `api.text_search_config: callers may not use it: grant usage on schema ${schema} to ${callerRole}`,
    )
  } catch (error) {
    // The name has no such object or schema, or is malformed.
    if (!['42704', '3F000', '42602', '42601'].includes(codeOf(error) ?? '')) throw error
    const names = await queries.listTextSearchConfigs(database)
    throw new OperatorError(
      `api.text_search_config: there is no text search configuration "${configName}"; there are ${names.join(', ')}`,
    )
  }
}

/** Returns the key of a table in maps of settings. */
export function keyOf(schema: string, name: string): string {
  return JSON.stringify([schema, name])
}
