import { sql } from '../../database/sql.ts'
import type { SystemDatabase } from '../../database/system-database.ts'

/** A table that is listened to is noted again after so long, and again. */
const renewSeconds = 30
/** Longer than a node may take to note it again, whatever the database does meanwhile. */
const marginSeconds = 60

export interface ListenedTablesOptions {
  readonly database: SystemDatabase
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

  constructor(options: ListenedTablesOptions) {
    this.#options = options
  }

  /**
   * Notes that the tables are listened to.
   *
   * @returns the first transaction from which on all of them are in the log
   */
  async listen(tables: readonly string[]): Promise<bigint> {
    const now = performance.now()
    const missing = tables.filter((table) => !this.#isFresh(table, now))
    if (missing.length > 0) await this.#note(missing)
    return tables.reduce((latest, table) => {
      const since = this.#known.get(table)?.loggedSince ?? 0n
      return since > latest ? since : latest
    }, 0n)
  }

  /** Notes again those that are still listened to; to be called now and then. */
  async renew(tables: readonly string[]): Promise<void> {
    const now = performance.now()
    const due = tables.filter((table) => !this.#isFresh(table, now))
    if (due.length > 0) await this.#note(due)
  }

  #isFresh(table: string, now: number): boolean {
    const notedAt = this.#known.get(table)?.notedAt
    return notedAt !== undefined && now - notedAt < renewSeconds * 1000
  }

  async #note(tables: readonly string[]): Promise<void> {
    const { database, resumeSeconds, settled } = this.#options
    const notedAt = performance.now()
    const seconds = resumeSeconds + renewSeconds + marginSeconds
    // In one order everywhere, so that nodes do not wait for each other in a ring.
    const names = [...new Set(tables)].sort()
    const noted = await database.many<{ name: string; since: string | null }>(sql`
      insert into basalt.realtime_tables as t (table_name, wanted_until)
      select name, now() + make_interval(secs => ${seconds}::int) from unnest(${names}::text[]) name
      on conflict (table_name) do update set
        -- What has run out was not logged for a time.
        logged_since = case when t.wanted_until < now() then null else t.logged_since end,
        wanted_until = greatest(t.wanted_until, excluded.wanted_until)
      returning table_name as name, logged_since::text as since`)
    for (const { name, since } of noted) this.#remember(name, since, notedAt)
    const unheard = noted.filter(({ since }) => since === null).map(({ name }) => name)
    if (unheard.length === 0) return
    await settled()
    const heard = await database.many<{ name: string; since: string }>(sql`
      update basalt.realtime_tables
      set logged_since = coalesce(logged_since, pg_snapshot_xmax(pg_current_snapshot()))
      where table_name = any (${unheard})
      returning table_name as name, logged_since::text as since`)
    for (const { name, since } of heard) this.#remember(name, since, notedAt)
  }

  #remember(name: string, since: string | null, notedAt: number): void {
    if (since === null) this.#known.delete(name)
    else this.#known.set(name, { loggedSince: BigInt(since), notedAt })
  }
}

/** Forgets tables that nobody has listened to for long. */
export async function forgetUnlistened(database: SystemDatabase): Promise<void> {
  await database.count(sql`delete from basalt.realtime_tables where wanted_until < now() - interval '1 hour'`)
}
