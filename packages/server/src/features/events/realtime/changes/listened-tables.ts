import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { definitionsOf } from './definitions.ts'
import type { LogEvent } from './event.ts'
import { findStreamed } from './streamed.ts'

/** The interest in a table is renewed after so long. */
const renewSeconds = 10
/** Longer than a node may take to renew it, whatever the database does meanwhile. */
const marginSeconds = 60
/** Interval at which earlier writes are polled for their end. */
const writersMs = 250
/** Time in which most writes end. A stream begins without a gap if those of before it have. */
const shortWriteMs = 50

export interface ListenedTablesOptions {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly log: Logger
  /** Seconds for which a table stays in the log after its last stream. */
  readonly resumeSeconds: number
  /** Has writes of this node that begin from now on be logged. @returns what ends that */
  readonly expect: (tables: readonly string[]) => () => void
  /** Resolves when the interest in the tables that was committed before is in force on every node. */
  readonly settled: (tables: readonly string[]) => Promise<Settlement>
}

/** Way in which the interest in a table came into force: `after a wait` for other nodes, changes since its beginning are missing. */
type Settlement = 'by triggers' | 'by the only node' | 'after a wait'

/** State of a table as this node knows it. */
interface Known {
  /** The first transaction from which on the log is complete, and fits the definition of the table. */
  readonly loggedSince: bigint
  /** Whether that has moved since this node knows the table. */
  readonly hasMoved: boolean
}

/** A virtual transaction, as in `pg_locks`, and a table that it has written to. */
interface Writer {
  readonly transaction: string
  readonly name: string
}

/**
 * The tables that streams listen to, in the database: every node must know them, as any of them may write. A table stays
 * in the log for a while after its last stream, for clients that reconnect.
 *
 * The row of a table holds its definition and since when the log is complete for it. Whatever breaks the log moves that
 * on: any DDL on the table, a time without interest, a write from before the interest. Each node that notices the move
 * sends its streams a gap, and a client that resumes from before it receives one.
 */
export class ListenedTables {
  readonly #options: ListenedTablesOptions
  readonly #notedAt = new Map<string, number>()
  readonly #known = new Map<string, Known>()
  readonly #changed = new Set<string>()
  #isStopped = false
  /** When all tables were looked at last; undefined when there is a reason to look at them again. */
  #lookedWith: Catalog | undefined

  constructor(options: ListenedTablesOptions) {
    this.#options = options
  }

  stop(): void {
    this.#isStopped = true
  }

  /**
   * Resolves when every node logs the tables. To be called again every second or so while they have streams.
   *
   * @returns whether it took so long that changes since the call are missing in the log
   */
  async listen(tables: readonly string[]): Promise<boolean> {
    const dueBefore = performance.now() - renewSeconds * 1000
    const due = tables.filter((table) => (this.#notedAt.get(table) ?? Number.NEGATIVE_INFINITY) < dueBefore)
    if (due.length === 0) return false
    const isLate = await this.#note(due)
    // Another node may have noticed a change.
    this.#lookedWith = undefined
    return isLate
  }

  /**
   * Looks whether tables with events have changed, or all when there is a reason. After the events were read and before
   * they are decided: the catalog is then as new as they are.
   *
   * @param tables those that have streams
   * @returns the tables of which streams may have missed something
   */
  async lookAfter(events: readonly LogEvent[], tables: readonly string[]): Promise<ReadonlySet<string>> {
    const catalog = this.#options.live.current
    const isDue = this.#lookedWith !== catalog
    // Another reason may come during the look.
    this.#lookedWith = catalog
    try {
      await this.look(isDue ? tables : [...new Set(events.map(({ table }) => table))])
    } catch (error) {
      this.#lookedWith = undefined
      throw error
    }
    const outdated = events.filter((event) => this.isOutdated(event)).map(({ table }) => table)
    return new Set([...this.takeChanged(), ...outdated])
  }

  /** @returns the first transaction from which on the log is complete for all of the tables */
  async look(tables: readonly string[]): Promise<bigint> {
    if (tables.length === 0) return 0n
    const { database, live } = this.#options
    const catalog = live.current
    const rows = await database.many<{ name: string; since: string }>(
      sql.prepared(sql`
        with found as (${definitionsOf(catalog, tables)}),
        moved as (
          update basalt.realtime_tables t
          set shape = f.version, logged_since = pg_snapshot_xmax(pg_current_snapshot())
          from found f
          where t.table_name = f.name and t.logged_since is not null and t.shape is distinct from f.version
        )
        select f.name, coalesce(
          case when t.shape is not distinct from f.version then t.logged_since end,
          pg_snapshot_xmax(pg_current_snapshot())
        )::text as since
        from found f
        left join basalt.realtime_tables t on t.table_name = f.name`),
    )
    let latest = 0n
    let isOutdated = false
    for (const { name, since } of rows) {
      const loggedSince = BigInt(since)
      if (loggedSince > latest) latest = loggedSince
      const known = this.#known.get(name)
      if (known?.loggedSince === loggedSince) continue
      isOutdated = true
      if (known !== undefined) this.#changed.add(name)
      this.#known.set(name, { loggedSince, hasMoved: known !== undefined })
    }
    if (isOutdated) await live.refresh(catalog)
    return latest
  }

  /** The tables whose log was found to have moved since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    return changed
  }

  /** Returns whether the event may be from before a change of its table, and so mean something else by now. */
  isOutdated({ table, transactionId }: LogEvent): boolean {
    const known = this.#known.get(table)
    return known?.hasMoved === true && BigInt(transactionId) < known.loggedSince
  }

  /** @returns whether changes since the call are missing in the log */
  async #note(tables: readonly string[]): Promise<boolean> {
    const { database, resumeSeconds } = this.#options
    const notedAt = performance.now()
    const seconds = resumeSeconds + renewSeconds + marginSeconds
    // In one order everywhere, so that nodes do not deadlock.
    const names = [...new Set(tables)].sort()
    const release = this.#options.expect(names.filter((name) => !this.#notedAt.has(name)))
    try {
      const noted = await database.many<{ name: string; is_new: boolean; at: string }>(sql`
        insert into basalt.realtime_tables as t (table_name, wanted_until)
        select name, now() + make_interval(secs => ${seconds}::int) from unnest(${names}::text[]) name
        on conflict (table_name) do update set
          -- What has run out was not logged for a time.
          logged_since = case when t.wanted_until < now() then null else t.logged_since end,
          wanted_until = greatest(t.wanted_until, excluded.wanted_until)
        returning table_name as name, logged_since is null as is_new, now()::text as at`)
      const unlogged = noted.filter(({ is_new }) => is_new).map(({ name }) => name)
      const isLate = unlogged.length > 0 && (await this.#begin(unlogged, noted[0]?.at))
      for (const name of names) this.#notedAt.set(name, notedAt)
      return isLate
    } finally {
      release()
    }
  }

  /** @returns whether changes since the tables were noted are missing in the log */
  async #begin(tables: readonly string[], notedAt: string | undefined): Promise<boolean> {
    const { database, live, settled } = this.#options
    const settlement = await settled(tables)
    const isQuick = settlement === 'by the only node'
    // Before the tables count as logged: a write that ends after that is logged or one of these. No wait has let those end
    // that began just before this node logged the table.
    const writers = await this.#findWriters(tables, isQuick ? undefined : notedAt)
    const isOver = writers.length === 0 || (isQuick && (await this.#haveEndedSoon(writers)))
    await database.count(sql`
      update basalt.realtime_tables t
      set logged_since = pg_snapshot_xmax(pg_current_snapshot()), shape = d.version
      from (${definitionsOf(live.current, tables)}) d
      -- Another node may have been quicker.
      where t.table_name = d.name and t.logged_since is null`)
    if (!isOver) void this.#awaitWriters(writers)
    return settlement === 'after a wait'
  }

  /**
   * Transactions that wrote before the interest, which is not logged, and may wait for a lock until long after.
   *
   * @param notedAt time of the database; undefined: whenever they have begun
   */
  #findWriters(tables: readonly string[], notedAt: string | undefined): Promise<Writer[]> {
    const { database, live } = this.#options
    const relations = tables.flatMap((table) => findStreamed(live.current, table) ?? [])
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
      where a.xact_start is null or a.xact_start < coalesce(${notedAt ?? null}::timestamptz, 'infinity')`)
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

  /** The log of their tables is complete only when they have ended. */
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
    if (!this.#isStopped) await this.#move([...new Set(writers.map(({ name }) => name))])
  }

  async #move(tables: readonly string[]): Promise<void> {
    const { database, log } = this.#options
    try {
      await database.count(sql`
        update basalt.realtime_tables set logged_since = pg_snapshot_xmax(pg_current_snapshot())
        where table_name = any (${tables})`)
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'failed to note a gap in the log of changes; streams receive it')
      for (const table of tables) this.#changed.add(table)
    }
    this.#lookedWith = undefined
  }
}

/** Deletes tables without streams, and nodes that have ended. */
export async function forgetUnlistened(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.realtime_nodes where seen_at < now() - interval '1 hour'`)
  await database.count(sql`delete from basalt.realtime_tables where wanted_until < now() - interval '1 hour'`)
}
