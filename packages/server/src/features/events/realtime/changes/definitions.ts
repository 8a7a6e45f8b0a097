import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

/** What the events of a table mean, and by what they are decided, as it stands in the database right now. */
export interface Definition {
  readonly table: string
  /** Changes when records look different: with the table itself, its columns, their names and types. */
  readonly shape: string
  /** Changes with rights and policies, too. */
  readonly version: string
}

/** @param tables as the catalog knows them; those that have gone have no definition */
export function definitionsOf(live: LiveCatalog, tables: readonly string[]): Sql {
  const relations = tables.flatMap((table) => live.current.relations.get(table) ?? [])
  return sql`
    select known.table_name as "table",
      md5(c.oid || coalesce(string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, a.atttypmod), ',' order by a.attnum), ''))
        as shape,
      concat_ws('/', c.oid, c.xmin, bit_xor(hash_record_extended(row(a.attnum, a.xmin), 0)),
        (select bit_xor(hash_record_extended(row(p.oid, p.xmin), 0)) from pg_policy p where p.polrelid = c.oid)
      ) as version
    from unnest(
      ${relations.map(({ collection }) => collection)}::text[],
      ${relations.map(({ schema }) => schema)}::text[],
      ${relations.map(({ name }) => name)}::text[]
    ) known (table_name, schema_name, name)
    join pg_namespace n on n.nspname = known.schema_name
    join pg_class c on c.relnamespace = n.oid and c.relname = known.name
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    group by known.table_name, c.oid, c.xmin`
}

/**
 * Watches definitions from batch to batch. An event is decided by what holds when it is told, and so its record must look
 * as the table does: one from before a change of the table's shape may mean something else, or show what has been
 * removed since.
 */
export class DefinitionWatch {
  readonly #live: LiveCatalog
  readonly #database: Queryable
  readonly #known = new Map<string, Definition>()
  /** Changed when they were looked at last: what was read just before that may still come. */
  #changed: ReadonlySet<string> = new Set()

  constructor(live: LiveCatalog, database: Queryable) {
    this.#live = live
    this.#database = database
  }

  /**
   * To be asked after events were read and before they are decided: the catalog is then as new as they are.
   *
   * @returns the tables whose events of this batch may be from before a change of shape
   */
  async look(tables: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Map<string, Definition>()
    for (const definition of await this.#read(tables)) found.set(definition.table, definition)
    const isOutdated = tables.some((table) => this.#known.get(table)?.version !== found.get(table)?.version)
    if (isOutdated) await this.#live.refresh(this.#live.current)
    const changed = tables.filter((table) => {
      const before = this.#known.get(table)
      return before !== undefined && before.shape !== found.get(table)?.shape
    })
    for (const table of tables) {
      const definition = found.get(table)
      if (definition === undefined) this.#known.delete(table)
      else this.#known.set(table, definition)
    }
    const suspects = new Set([...changed, ...tables.filter((table) => this.#changed.has(table))])
    this.#changed = new Set([...changed, ...[...this.#changed].filter((table) => !tables.includes(table))])
    return suspects
  }

  #read(tables: readonly string[]): Promise<Definition[]> {
    return this.#database.many<Definition & Record<string, unknown>>(definitionsOf(this.#live, tables))
  }
}
