import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { definitionsOf } from './definitions.ts'

/** A table that is listened to is noted again after so long, and again. */
const renewSeconds = 10
/** Longer than a node may take to note it again, whatever the database does meanwhile. */
const marginSeconds = 60
/** How often it is asked whether writes of before have ended. */
const writersMs = 250

export interface ListenedTablesOptions {
  readonly database: SystemDatabase
  readonly live: LiveCatalog
  readonly log: Logger
  /** Seconds for which a table stays in the log after its last stream. */
  readonly resumeSeconds: number
  /** Resolves when every node has heard of what was noted before. */
  readonly settled: () => Promise<void>
}

/**
 * Which tables streams listen to, in the database: every node must know, as any of them may write. A table stays
 * listened to for a while after its last stream, so that a client that comes back finds what it missed.
 */
export class ListenedTables {
  readonly #options: ListenedTablesOptions
  readonly #known = new Map<string, { readonly loggedSince: bigint; readonly notedAt: number }>()
  #onMiss: (tables: readonly string[]) => void = () => undefined
  #isStopped = false

  constructor(options: ListenedTablesOptions) {
    this.#options = options
  }

  /** @param listener is told of tables whose open streams may have missed something */
  onMiss(listener: (tables: readonly string[]) => void): void {
    this.#onMiss = listener
  }

  stop(): void {
    this.#isStopped = true
  }

  /**
   * Notes that the tables are listened to.
   *
   * @param isResuming whether what was logged before matters
   * @returns the first transaction from which on all of them are in the log, and look as they do now
   */
  async listen(tables: readonly string[], isResuming: boolean): Promise<bigint> {
    const now = performance.now()
    const missing = tables.filter((table) => !this.#isFresh(table, now))
    if (missing.length > 0) await this.#note(missing)
    if (isResuming) await this.#compareShapes(tables)
    return tables.reduce((latest, table) => {
      const since = this.#known.get(table)?.loggedSince ?? 0n
      return since > latest ? since : latest
    }, 0n)
  }

  /** Notes again those that are still listened to; to be called now and then. */
  async renew(tables: readonly string[]): Promise<void> {
    const now = performance.now()
    const due = tables.filter((table) => !this.#isFresh(table, now))
    if (due.length === 0) return
    const lapsed = await this.#note(due)
    if (lapsed.length > 0) this.#onMiss(lapsed)
  }

  #isFresh(table: string, now: number): boolean {
    const notedAt = this.#known.get(table)?.notedAt
    return notedAt !== undefined && now - notedAt < renewSeconds * 1000
  }

  /** @returns those that were not listened to before, or no longer */
  async #note(tables: readonly string[]): Promise<readonly string[]> {
    const { database, live, resumeSeconds, settled } = this.#options
    const notedAt = performance.now()
    const seconds = resumeSeconds + renewSeconds + marginSeconds
    // In one order everywhere, so that nodes do not wait for each other in a ring.
    const names = [...new Set(tables)].sort()
    const noted = await database.many<{ name: string; since: string | null; at: string }>(sql`
      insert into basalt.realtime_tables as t (table_name, wanted_until)
      select name, now() + make_interval(secs => ${seconds}::int) from unnest(${names}::text[]) name
      on conflict (table_name) do update set
        -- What has run out was not logged for a time.
        logged_since = case when t.wanted_until < now() then null else t.logged_since end,
        wanted_until = greatest(t.wanted_until, excluded.wanted_until)
      returning table_name as name, logged_since::text as since, now()::text as at`)
    for (const { name, since } of noted) this.#remember(name, since, notedAt)
    const unheard = noted.filter(({ since }) => since === null).map(({ name }) => name)
    if (unheard.length === 0) return []
    await settled()
    const heard = await database.many<{ name: string; since: string }>(sql`
      update basalt.realtime_tables t
      set logged_since = coalesce(t.logged_since, pg_snapshot_xmax(pg_current_snapshot())),
        -- Of another node that was quicker, it belongs to what that one has noted.
        shape = case when t.logged_since is null then d.shape else t.shape end
      from (${definitionsOf(live, unheard)}) d
      where t.table_name = d."table"
      returning t.table_name as name, t.logged_since::text as since`)
    for (const { name, since } of heard) this.#remember(name, since, notedAt)
    void this.#awaitWriters(unheard, noted[0]?.at ?? '')
    return unheard
  }

  /** What a table held before its shape changed is not to be told by how it looks now, whichever node saw the change. */
  async #compareShapes(tables: readonly string[]): Promise<void> {
    const { database, live } = this.#options
    const shapes = definitionsOf(live, tables)
    const found = await database.many<{ name: string; since: string; is_changed: boolean }>(sql`
      select t.table_name as name, t.logged_since::text as since, t.shape is distinct from d.shape as is_changed
      from basalt.realtime_tables t
      join (${shapes}) d on d."table" = t.table_name
      where t.logged_since is not null`)
    const changed = found.some(({ is_changed }) => is_changed)
      ? await database.many<{ name: string; since: string }>(sql`
          update basalt.realtime_tables t
          set shape = d.shape, logged_since = pg_snapshot_xmax(pg_current_snapshot())
          from (${shapes}) d
          where t.table_name = d."table" and t.shape is distinct from d.shape and t.logged_since is not null
          returning t.table_name as name, t.logged_since::text as since`)
      : []
    for (const { name, since } of [...found, ...changed]) {
      const known = this.#known.get(name)
      if (known !== undefined && BigInt(since) > known.loggedSince)
        this.#known.set(name, { ...known, loggedSince: BigInt(since) })
    }
  }

  /**
   * A write that had begun before anybody listened is not logged, and may wait for a lock until long after. Once those
   * have ended, streams are told that they may have missed something.
   *
   * @param notedAt time of the database
   */
  async #awaitWriters(tables: readonly string[], notedAt: string): Promise<void> {
    const { database, live, log } = this.#options
    const relations = tables.flatMap((table) => live.current.relations.get(table) ?? [])
    try {
      const writers = await database.many<{ transaction: string; name: string }>(sql`
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
        where a.xact_start is null or a.xact_start < ${notedAt}::timestamptz`)
      if (writers.length === 0) return
      const transactions = writers.map(({ transaction }) => transaction)
      while (!this.#isStopped) {
        const open = await database.count(
          sql`select from pg_locks where virtualtransaction = any (${transactions}) limit 1`,
        )
        if (open === 0) break
        await delay(writersMs, undefined, { ref: false })
      }
      if (!this.#isStopped) this.#onMiss([...new Set(writers.map(({ name }) => name))])
    } catch (error) {
      log.warn(
        { reason: messageOf(error) },
        'cannot see which writes were under way; streams may have missed some',
      )
      this.#onMiss(tables)
    }
  }

  #remember(name: string, since: string | null, notedAt: number): void {
    if (since === null) this.#known.delete(name)
    else this.#known.set(name, { loggedSince: BigInt(since), notedAt })
  }
}

/** Forgets tables that nobody has listened to for long, and nodes that have not been heard of. */
export async function forgetUnlistened(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.realtime_nodes where seen_at < now() - interval '1 hour'`)
  await database.count(sql`delete from basalt.realtime_tables where wanted_until < now() - interval '1 hour'`)
}
