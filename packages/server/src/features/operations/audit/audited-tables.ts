import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'

/** How often a node looks whether tables have come or changed; the catalog itself notices within a second. */
const checkMs = 1000
/** Creating a trigger waits for the writers of the table, and later writers for it. */
const lockTimeout = '3s'
/** Key of the advisory lock that lets one node at a time create triggers. */
const lockKey = 0x6261_736c_0011n // "basl", 17

const triggerName = 'basalt_audit_row'
const truncateTriggerName = 'basalt_audit_truncate'

export interface AuditedTablesOptions {
  /** Collections, or `*`. */
  readonly names: readonly string[]
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly log: Logger
}

/** Keeps the triggers of the configured tables as they should be, also of tables that are created later. */
export class AuditedTables {
  readonly #options: AuditedTablesOptions
  #done: Catalog | undefined
  #timer: NodeJS.Timeout | undefined
  #installing: Promise<void> | undefined
  /** Failures that were logged, until the catalog changes. */
  readonly #reported = new Set<string>()

  constructor(options: AuditedTablesOptions) {
    this.#options = options
  }

  /** When it resolves, what is written is audited. */
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
        log.error({ reason: messageOf(error) }, 'failed to look for audited tables; retrying'),
      )
    }
  }

  /** @returns whether every table is as it should be */
  async #install(catalog: Catalog): Promise<boolean> {
    const { names, database, log } = this.#options
    // Unlike a name a pair of names has one reading.
    const keyOf = ({ schema, name }: { schema: string; name: string }) => JSON.stringify([schema, name])
    const known = new Map((await listTriggers(database)).map((row) => [keyOf(row), row]))
    const wanted = [...catalog.relations.values()].filter((relation) => isAudited(relation, names))
    if (this.#done === undefined) this.#nameMissing(wanted)
    let isComplete = true
    for (const relation of wanted) {
      const found = known.get(keyOf(relation))
      known.delete(keyOf(relation))
      if (found !== undefined && isSame(found.args, argumentsOf(relation))) continue
      try {
        await change(database, (transaction) => createTriggers(transaction, relation))
      } catch (error) {
        isComplete = false
        this.#report(relation.collection, () =>
          log.error(
            { table: relation.collection, reason: messageOf(error) },
            'failed to audit a table: its changes are not recorded; retrying',
          ),
        )
      }
    }
    for (const { schema, name } of known.values()) {
      await change(database, (transaction) => dropTriggers(transaction, schema, name))
    }
    if (isComplete) this.#reported.clear()
    return isComplete
  }

  #nameMissing(wanted: readonly Relation[]): void {
    const { names, log } = this.#options
    const missing = names.filter(
      (name) => name !== '*' && !wanted.some(({ collection }) => collection === name),
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

/** What the trigger's function is given: the collection, and the columns of the key. */
function argumentsOf({ collection, primaryKey }: Relation): readonly string[] {
  return [collection, ...primaryKey.map(({ name }) => name)]
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index])
}

interface TriggerRow {
  readonly schema: string
  readonly name: string
  readonly args: readonly string[]
}

/** Those that are not copies which partitions have of the trigger of their table. */
async function listTriggers(database: Queryable): Promise<readonly TriggerRow[]> {
  return await database.many<TriggerRow & Record<string, unknown>>(sql`
    select n.nspname as schema, c.relname as name,
      string_to_array(rtrim(encode(t.tgargs, 'escape'), '\\000'), '\\000') as args
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    join pg_namespace n on n.oid = c.relnamespace
    where t.tgname = ${triggerName} and t.tgparentid = 0`)
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

async function createTriggers(transaction: Queryable, relation: Relation): Promise<void> {
  const table = sql.id(relation.schema, relation.name)
  const args = sql.join(argumentsOf(relation).map((value) => sql.literal(value)))
  await transaction.count(sql`
    create or replace trigger ${sql.id(triggerName)}
    after insert or update or delete on ${table}
    for each row execute function basalt.audit_row(${args})`)
  await transaction.count(sql`
    create or replace trigger ${sql.id(truncateTriggerName)}
    after truncate on ${table}
    for each statement execute function basalt.audit_row(${args})`)
}

async function dropTriggers(transaction: Queryable, schema: string, name: string): Promise<void> {
  const table = sql.id(schema, name)
  await transaction.count(sql`drop trigger if exists ${sql.id(triggerName)} on ${table}`)
  await transaction.count(sql`drop trigger if exists ${sql.id(truncateTriggerName)} on ${table}`)
}
