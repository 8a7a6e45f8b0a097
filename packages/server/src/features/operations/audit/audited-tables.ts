import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import {
  createTriggers,
  dropTriggers,
  type FamilyRow,
  isSame,
  keyOf,
  listFamilies,
  listTriggers,
} from './triggers.ts'

/** Interval of checks for new or changed tables. The catalog notices changes within a second. */
const checkMs = 1000
/** Lock timeout, because creating a trigger waits for the writers of the table, and later writers wait for it. */
const lockTimeout = '3s'
/** Key of the advisory lock that lets one node at a time create triggers. */
const lockKey = 0x6261_736c_0011n // "basl", 17

export interface AuditedTablesOptions {
  /** Collections, or `*`. */
  readonly names: readonly string[]
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly log: Logger
}

/** Triggers of the configured tables. They are kept up to date, also for tables that are created later. */
export class AuditedTables {
  readonly #options: AuditedTablesOptions
  #done: Catalog | undefined
  #timer: NodeJS.Timeout | undefined
  #installing: Promise<void> | undefined
  /** Logged failures, until the catalog changes. */
  readonly #reported = new Set<string>()

  constructor(options: AuditedTablesOptions) {
    this.#options = options
  }

  /** Starts the checks. Once it resolves, writes are audited. */
  async start(): Promise<void> {
    await this.#check()
    if (this.#options.names.length === 0) return
    this.#timer = setInterval(() => {
      this.#installing ??= this.#check().finally(() => {
        this.#installing = undefined
      })
    }, checkMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#installing
  }

  async #check(): Promise<void> {
    const { catalog, log } = this.#options
    const { current } = catalog
    if (current === this.#done) return
    try {
      if (await this.#install(current)) this.#done = current
    } catch (error) {
      this.#report('', () =>
        log.error({ reason: messageOf(error) }, 'failed to find audited tables; retrying'),
      )
    }
  }

  /** Installs the triggers. @returns whether every table has the right ones */
  async #install(catalog: Catalog): Promise<boolean> {
    const { names, database } = this.#options
    const existing = new Map((await listTriggers(database)).map((row) => [keyOf(row), row]))
    const families = new Map((await listFamilies(database)).map((row) => [keyOf(row), row]))
    const audited = [...catalog.relations.values(), ...catalog.partitions.values()].filter((relation) =>
      isAudited(relation, names),
    )
    if (this.#done === undefined) this.#nameMissing(audited)
    const keys = new Set(audited.map(keyOf))
    const required = new Map(
      audited
        .filter((relation) => !isCovered(families.get(keyOf(relation)), keys))
        .map((relation) => [keyOf(relation), relation]),
    )
    let isComplete = true
    // This comes first, so that a table that became a partition can get the triggers of the whole.
    for (const [key, found] of existing) {
      if (required.has(key)) continue
      await change(database, (transaction) => dropTriggers(transaction, found, found.triggers))
    }
    for (const [key, relation] of required) {
      const definition = { args: argumentsOf(relation), isPerRow: families.has(key) }
      const found = existing.get(key)
      if (found !== undefined && isSame(found, definition)) continue
      try {
        await change(database, (transaction) => createTriggers(transaction, relation, definition, found))
      } catch (error) {
        isComplete = false
        this.#report(relation.collection, () => this.#nameFailed(relation, error))
      }
    }
    if (isComplete) this.#reported.clear()
    return isComplete
  }

  #nameFailed({ collection }: Relation, error: unknown): void {
    this.#options.log.error(
      { table: collection, reason: messageOf(error) },
      'failed to audit a table: its changes are not recorded; retrying',
    )
  }

  #nameMissing(required: readonly Relation[]): void {
    const { names, log } = this.#options
    const missing = names.filter(
      (name) => name !== '*' && !required.some(({ collection }) => collection === name),
    )
    if (missing.length > 0) log.warn({ tables: missing }, 'audit.tables names tables that do not exist yet')
  }

  #report(key: string, write: () => void): void {
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    write()
  }
}

function isAudited({ kind, collection }: Relation, names: readonly string[]): boolean {
  if (kind !== 'table' && kind !== 'partitioned_table') return false
  return names.includes('*') || names.includes(collection)
}

/** Returns whether the table is a partition of an audited table, whose triggers it has. */
function isCovered(family: FamilyRow | undefined, audited: ReadonlySet<string>): boolean {
  if (family === undefined || family.root === null) return false
  const root = keyOf(family.root)
  return root !== keyOf(family) && audited.has(root)
}

/** Returns the arguments of the trigger function: the collection, and the columns of the key. */
function argumentsOf({ collection, primaryKey }: Relation): readonly string[] {
  return [collection, ...primaryKey.map(({ name }) => name)]
}

async function change(
  database: SystemDatabase,
  work: (transaction: Queryable) => Promise<void>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.count(sql`select set_config('lock_timeout', ${lockTimeout}, true)`)
    await transaction.count(sql`select pg_advisory_xact_lock(${String(lockKey)}::bigint)`)
    await work(transaction)
  })
}
