import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { privilegesOf, type Reader, requireRls } from '../../../data/collections/index.ts'
import { realtimeErrors } from '../errors.ts'
import type { Subscriptions } from './audience.ts'
import { compileCheck, type Filter, inapplicable, planFilter } from './filter.ts'
import { type StreamCondition, textsOf } from './parse-filter.ts'
import { findStreamTable, requireStreamTable } from './stream-table.ts'

/** Maximum number of tables to which one stream may subscribe. */
export const tableLimit = 100

/** Name of a list, in quotes or up to the next comma. */
const listItem = /\s*(?:"((?:[^"]|"")+)"\s*(?=,|$)|([^,]+))(?:,|$)/g

/** Parses a list such as `track, "a,b"` into names. Skips empty ones. */
export function parseTables(text: string): readonly string[] {
  const names = [...text.matchAll(listItem)].map(
    ([, quoted, bare = '']) => quoted?.replaceAll('""', '"') ?? bare.trim(),
  )
  return [...new Set(names.filter((name) => name !== ''))]
}

/** Planner that checks that a listener may subscribe to these tables, each with the filter. */
export class SubscriptionPlanner {
  readonly #live: LiveCatalog
  readonly #database: SystemDatabase

  constructor(live: LiveCatalog, database: SystemDatabase) {
    this.#live = live
    this.#database = database
  }

  /**
   * Returns true if a request without a token may subscribe to all of the tables. A grant may be new, so the catalog is
   * read again.
   */
  async admitsAnonymous(tables: readonly string[]): Promise<boolean> {
    const areOpen = (catalog: Catalog) =>
      tables.length > 0 && tables.every((table) => findStreamTable(catalog, table)?.anonymous.select === true)
    const catalog = this.#live.current
    if (areOpen(catalog)) return true
    // A token is required whether or not the database is available.
    const isNewer = await this.#live.refresh(catalog).catch(() => false)
    return isNewer && areOpen(this.#live.current)
  }

  /**
   * Plans subscriptions. @throws AppError insufficient_scope, unknown_table, rls_required, too_many_tables,
   * invalid_stream_filter
   */
  async plan(
    scope: CallerScope,
    tables: readonly string[],
    conditions: readonly StreamCondition[] | undefined,
  ): Promise<Subscriptions> {
    if (tables.length > tableLimit) throw realtimeErrors.tooManyTables(tableLimit)
    const subscriptions = new Map<string, Filter | undefined>()
    for (const table of tables) requireStreamTable(scope, table, conditions)
    for (const table of tables) {
      const relation = await this.#find(table, scope.kind, conditions ?? [])
      // A client whose pages share a stream has to know which of them requested the table.
      if (relation === undefined) {
        const { partitionOf } = this.#live.current.partitions.get(table) ?? {}
        throw realtimeErrors.unknownTable(table, partitionOf).with({ data: { table } })
      }
      const filter = conditions && planFilter(relation, conditions, scope.kind)
      if (filter !== undefined) await this.#checkValues(relation, filter)
      subscriptions.set(table, filter)
    }
    return subscriptions
  }

  /** Finds the table. A missing table may be new, so the catalog is read again. */
  async #find(
    table: string,
    reader: Reader,
    conditions: readonly StreamCondition[],
  ): Promise<Relation | undefined> {
    const catalog = this.#live.current
    const isWhole = (relation: Relation | undefined) =>
      relation !== undefined &&
      (reader === 'unrestricted' || relation.rlsGap === undefined) &&
      conditions.every(({ column }) => relation.column.has(column))
    if (!isWhole(findStreamTable(catalog, table))) await this.#live.refresh(catalog)
    const relation = findStreamTable(this.#live.current, table)
    if (relation === undefined || !privilegesOf(relation, reader).select) return undefined
    requireRls(relation, reader)
    return relation.kind === 'table' || relation.kind === 'partitioned_table' ? relation : undefined
  }

  /** Checks each value separately, so that the message can name its column. */
  async #checkValues(relation: Relation, filter: Filter): Promise<void> {
    for (const condition of filter.conditions) {
      const column = relation.column.get(condition.column)
      // `in` without values matches nothing.
      if (column === undefined || textsOf(condition).length === 0) continue
      try {
        await this.#database.count(compileCheck(relation, condition, column))
      } catch (error) {
        const code = codeOf(error) ?? ''
        // Parts of a value may have no equality operator, which only a comparison of two values shows.
        if (code.startsWith('42')) throw inapplicable(condition, column)
        // Class 22 is a data exception. Class 23 is a value that a domain rejects.
        if (!/^2[23]/.test(code)) throw error
        throw realtimeErrors.invalidStreamFilter(
          `the value for ${column.name} is not of type ${column.typeName}`,
        )
      }
    }
  }
}
