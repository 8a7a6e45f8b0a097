import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { definitionsOf } from './definitions.ts'
import type { LogEvent } from './event.ts'
import { findStreamTable } from './stream-table.ts'

/** Seconds after which the interest in a table is renewed. */
const renewSeconds = 10
/**
 * Seconds by which the interest outlasts its renewal. It is longer than a node may take to renew it, whatever the
 * database does.
 */
const marginSeconds = 60
/** Milliseconds between two checks whether earlier writes have ended. */
const writersMs = 250
/**
 * Milliseconds within which most writes end. A stream begins without a gap if all earlier writes have ended by then.
 */
const shortWriteMs = 50

export interface TableRegistryOptions {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly log: Logger
  /** Seconds for which a table stays in the log after its last stream. */
  readonly resumeSeconds: number
  /** Starts logging writes of this node that begin from now on. @returns a function that ends it */
  readonly expect: (tables: readonly string[]) => () => void
  /** Resolves when the committed interest in the tables is in force on every node. */
  readonly settled: (tables: readonly string[]) => Promise<Settlement>
}

/**
 * Way in which the interest in a table came into force. After a wait for other nodes, changes since the start are
 * missing.
 */
type Settlement = 'by triggers' | 'by the only node' | 'after a wait'

/** State of a table as this node knows it. */
interface TableState {
  /** First transaction from which on the log is complete and fits the definition of the table. */
  readonly loggedSince: bigint
  /** True if that transaction has advanced since this node knows the table. */
  readonly hasAdvanced: boolean
}

/** Table with the first transaction from which on the log is complete. */
interface Beginning {
  readonly name: string
  readonly since: string
}

/** Virtual transaction, as in `pg_locks`, and a table that it has written to. */
interface Writer {
  readonly transaction: string
  readonly name: string
}

/**
 * Registry in the database of the tables that streams subscribe to. Every node must know them, because any node may
 * write. A table stays in the log for a while after its last stream, for clients that reconnect.
 *
 * The row of a table holds its definition and the first transaction from which on the log is complete. Any
 * interruption of the log advances that transaction: DDL on the table, a time without interest, a write from before the
 * interest. Each node that notices this sends its streams a gap. A client that resumes from an earlier position
 * receives one too.
 */
export class TableRegistry {
  readonly #options: TableRegistryOptions
  readonly #renewedAt = new Map<string, number>()
  readonly #known = new Map<string, TableState>()
  readonly #changed = new Set<string>()
  #isStopped = false
  /** Catalog of the last check of all tables; undefined if they have to be checked again. */
  #checkedWith: Catalog | undefined

  constructor(options: TableRegistryOptions) {
    this.#options = options
  }

  stop(): void {
    this.#isStopped = true
  }

  /**
   * Registers the tables and resolves when every node logs them. Call it again about every second while they have
   * streams.
   *
   * @returns true if it took so long that changes since the call are missing in the log
   */
  async register(tables: readonly string[]): Promise<boolean> {
    const dueBefore = performance.now() - renewSeconds * 1000
    const due = tables.filter((table) => (this.#renewedAt.get(table) ?? Number.NEGATIVE_INFINITY) < dueBefore)
    if (due.length === 0) return false
    const isDelayed = await this.#renew(due)
    // Another node may have noticed a change.
    this.#checkedWith = undefined
    return isDelayed
  }

  /**
   * Checks whether tables with events have changed, or all tables if there is a reason. Call it after the events were
   * read and before they are decided, so that the catalog is as new as they are.
   *
   * @param tables tables that have streams
   * @returns the tables whose streams may have missed events
   */
  async checkAfter(events: readonly LogEvent[], tables: readonly string[]): Promise<ReadonlySet<string>> {
    const catalog = this.#options.live.current
    const isDue = this.#checkedWith !== catalog
    // Another reason may arise during the check.
    this.#checkedWith = catalog
    try {
      await this.check(isDue ? tables : [...new Set(events.map(({ table }) => table))])
    } catch (error) {
      this.#checkedWith = undefined
      throw error
    }
    const outdated = events.filter((event) => this.isOutdated(event)).map(({ table }) => table)
    return new Set([...this.drainChanged(), ...outdated])
  }

  /** Checks the tables. @returns the first transaction from which on the log is complete for all of them */
  async check(tables: readonly string[]): Promise<bigint> {
    if (tables.length === 0) return 0n
    const { live } = this.#options
    const catalog = live.current
    const rows = await this.#findBeginnings(catalog, tables)
    let latest = 0n
    let isOutdated = false
    for (const { name, since } of rows) {
      const loggedSince = BigInt(since)
      if (loggedSince > latest) latest = loggedSince
      const known = this.#known.get(name)
      if (known?.loggedSince === loggedSince) continue
      isOutdated = true
      if (known !== undefined) this.#changed.add(name)
      this.#known.set(name, { loggedSince, hasAdvanced: known !== undefined })
    }
    if (isOutdated) await live.refresh(catalog)
    return latest
  }

  /**
   * Returns the first transaction from which on the log of each table is complete. Advances it for a table that has
   * changed.
   */
  async #findBeginnings(catalog: Catalog, tables: readonly string[]): Promise<readonly Beginning[]> {
    const { database } = this.#options
    for (;;) {
      const rows = await database.many<{ name: string; since: string | null }>(
        sql.prepared(sql`
          with found as (${definitionsOf(catalog, tables)}),
          advanced as (
            update basalt.realtime_tables t
            set shape = f.version, logged_since = pg_snapshot_xmax(pg_current_snapshot())
            from found f
            where t.table_name = f.name and t.logged_since is not null and t.shape is distinct from f.version
            returning t.table_name, t.logged_since
          )
          select f.name, case
            when t.logged_since is null then pg_snapshot_xmax(pg_current_snapshot())
            when t.shape is not distinct from f.version then t.logged_since
            else a.logged_since
          end::text as since
          from found f
          left join basalt.realtime_tables t on t.table_name = f.name
          left join advanced a on a.table_name = f.name`),
      )
      const known = rows.filter((row): row is Beginning => row.since !== null)
      // A concurrent check has advanced another row. The next snapshot sees it.
      if (known.length === rows.length) return known
    }
  }

  /** Returns the tables whose log was found to have advanced since the last call. */
  drainChanged(): ReadonlySet<string> {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    return changed
  }

  /** Returns true if the event may be from before a change of its table, so that it may have another meaning now. */
  isOutdated({ table, transactionId }: LogEvent): boolean {
    const known = this.#known.get(table)
    return known?.hasAdvanced === true && BigInt(transactionId) < known.loggedSince
  }

  /** @returns true if changes since the call are missing in the log */
  async #renew(tables: readonly string[]): Promise<boolean> {
    const { database, resumeSeconds } = this.#options
    const renewedAt = performance.now()
    const seconds = resumeSeconds + renewSeconds + marginSeconds
    // All nodes use the same order, so that they do not deadlock.
    const names = [...new Set(tables)].sort()
    const release = this.#options.expect(names.filter((name) => !this.#renewedAt.has(name)))
    try {
      const renewed = await database.many<{ name: string; is_new: boolean; at: string }>(sql`
        insert into basalt.realtime_tables as t (table_name, wanted_until)
        select name, now() + make_interval(secs => ${seconds}::int) from unnest(${names}::text[]) name
        on conflict (table_name) do update set
          -- A table whose interest had expired was not logged for a time.
          logged_since = case when t.wanted_until < now() then null else t.logged_since end,
          wanted_until = greatest(t.wanted_until, excluded.wanted_until)
        returning table_name as name, logged_since is null as is_new, now()::text as at`)
      const unlogged = renewed.filter(({ is_new }) => is_new).map(({ name }) => name)
      const isDelayed = unlogged.length > 0 && (await this.#startLogging(unlogged, renewed[0]?.at))
      for (const name of names) this.#renewedAt.set(name, renewedAt)
      return isDelayed
    } finally {
      release()
    }
  }

  /** @returns true if changes since the tables were registered are missing in the log */
  async #startLogging(tables: readonly string[], renewedAt: string | undefined): Promise<boolean> {
    const { database, live, settled } = this.#options
    const settlement = await settled(tables)
    const isQuick = settlement === 'by the only node'
    // Writers are listed before the tables count as logged. A write that ends later is either logged or one of these.
    // No wait has covered writes that began just before this node logged the table.
    const writers = await this.#findWriters(tables, isQuick ? undefined : renewedAt)
    const isOver = writers.length === 0 || (isQuick && (await this.#haveEndedSoon(writers)))
    await database.count(sql`
      update basalt.realtime_tables t
      set logged_since = pg_snapshot_xmax(pg_current_snapshot()), shape = d.version
      from (${definitionsOf(live.current, tables)}) d
      -- Another node may have been faster.
      where t.table_name = d.name and t.logged_since is null`)
    if (!isOver) void this.#awaitWriters(writers)
    return settlement === 'after a wait'
  }

  /**
   * Finds transactions that wrote before the interest. They are not logged and may wait for a lock until much later.
   *
   * @param renewedAt database time; undefined means whenever they have begun
   */
  #findWriters(tables: readonly string[], renewedAt: string | undefined): Promise<Writer[]> {
    const { database, live } = this.#options
    const relations = tables.flatMap((table) => findStreamTable(live.current, table) ?? [])
    return database.many<Writer>(sql`
      select distinct l.virtualtransaction as transaction, known.table_name as name
      from unnest(
        ${relations.map(({ collection }) => collection)}::text[],
        ${relations.map(({ schema }) => schema)}::text[],
        ${relations.map(({ name }) => name)}::text[]
      ) known (table_name, schema_name, name)
      join pg_namespace n on n.nspname = known.schema_name
      join pg_class c on c.relnamespace = n.oid and c.relname = known.name
      join pg_locks l on l.locktype = 'relation' and l.relation = c.oid and l.mode = 'RowExclusiveLock'
        and l.database = (select oid from pg_database where datname = current_database())
      left join pg_stat_activity a on a.pid = l.pid
      where a.xact_start is null or a.xact_start < coalesce(${renewedAt ?? null}::timestamptz, 'infinity')`)
  }

  async #haveEndedSoon(writers: readonly Writer[]): Promise<boolean> {
    if ((await this.#countOpen(writers)) === 0) return true
    await delay(shortWriteMs)
    return (await this.#countOpen(writers)) === 0
  }

  #countOpen(writers: readonly Writer[]): Promise<number> {
    const transactions = writers.map(({ transaction }) => transaction)
    return this.#options.database.count(
      sql`select from pg_locks where virtualtransaction = any (${transactions}) limit 1`,
    )
  }

  /** Waits until the writers have ended. Only then the log of their tables is complete. */
  async #awaitWriters(writers: readonly Writer[]): Promise<void> {
    const { log } = this.#options
    try {
      while (!this.#isStopped) {
        if ((await this.#countOpen(writers)) === 0) break
        await delay(writersMs, undefined, { ref: false })
      }
    } catch (error) {
      const reason = messageOf(error)
      log.warn({ reason }, 'failed to wait for earlier writes; streams receive a gap')
    }
    if (!this.#isStopped) await this.#advance([...new Set(writers.map(({ name }) => name))])
  }

  async #advance(tables: readonly string[]): Promise<void> {
    const { database, log } = this.#options
    try {
      await database.count(sql`
        update basalt.realtime_tables set logged_since = pg_snapshot_xmax(pg_current_snapshot())
        where table_name = any (${tables})`)
    } catch (error) {
      log.warn(
        { reason: messageOf(error) },
        'failed to record a gap in the log of changes; streams of this node receive it',
      )
      for (const table of tables) this.#changed.add(table)
    }
    this.#checkedWith = undefined
  }
}

/** Deletes tables without streams, and nodes that have ended. */
export async function deleteExpiredTables(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.realtime_nodes where seen_at < now() - interval '1 hour'`)
  await database.count(sql`delete from basalt.realtime_tables where wanted_until < now() - interval '1 hour'`)
}
