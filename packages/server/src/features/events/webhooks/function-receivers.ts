import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { recordActions } from './webhook.ts'

/** Change that a function of the operator handles. */
export interface ChangeAttempt {
  readonly eventId: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  /** JSON that a webhook gets. */
  readonly body: string
  /** Writer of the change, as the log has it: the actor, the user, the API key and the request. */
  readonly origin: readonly (string | null)[]
}

/** Outcome of an attempt. */
export interface ChangeOutcome {
  /** Undefined after success. */
  readonly error: string | undefined
  /** Seconds before the next attempt; undefined when there is none. */
  readonly retrySeconds: number | undefined
  /** Lines that the function has logged. */
  readonly output: string
}

/** Functions of the operator that handle changes on this node. */
export interface ChangeHandlers {
  /** Names of those that can be called now. */
  readonly names: readonly string[]
  /** Calls the listener when other functions can be called. */
  onReady(listener: () => void): void
  /** Makes an attempt, and returns undefined if the function can no longer be called. It never rejects. */
  handle(name: string, change: ChangeAttempt, signal: AbortSignal): Promise<ChangeOutcome | undefined>
}

/** Function that handles changes of a table. */
export interface FunctionReceiver {
  readonly name: string
  readonly table: string
  readonly actions: readonly (typeof recordActions)[number][]
}

/**
 * Replaces the functions that handle changes. A missing one is disabled, and its waiting changes are kept for
 * `webhooks.retention_days` (prune.ts). It writes nothing if they are the same, as on a read-only database.
 *
 * @param lock lets one node at a time replace them, and returns false if others are current
 * @returns true if it has written
 */
export async function replaceFunctionReceivers(
  database: SystemDatabase,
  receivers: readonly FunctionReceiver[],
  lock: (transaction: Queryable) => Promise<boolean>,
): Promise<boolean> {
  const wanted = receivers.map(formOf).toSorted()
  const stored = (await listEnabled(database)).map(formOf).toSorted()
  if (JSON.stringify(stored) === JSON.stringify(wanted)) return false
  return await database.transaction(async (transaction) => {
    if (!(await lock(transaction))) return false
    await transaction.count(sql`
      update basalt.webhooks set enabled = false, updated_at = clock_timestamp()
      where enabled and function_name is not null
        and function_name <> all (${receivers.map(({ name }) => name)}::text[])`)
    for (const { name, table, actions } of receivers) {
      const { id } = await transaction.one<{ id: string }>(sql`
        insert into basalt.webhooks (id, url, function_name, tables, events, enabled)
        values (gen_random_uuid(), ${`function:${name}`}, ${name}, array[${table}], ${[...actions]}::text[], true)
        on conflict (function_name) do update set
          tables = excluded.tables, events = excluded.events, enabled = true, updated_at = clock_timestamp()
        returning id`)
      // The function no longer expects records of another table.
      await transaction.count(sql`
        delete from basalt.webhook_queue where webhook_id = ${id}::uuid and event_table <> ${table}`)
    }
    return true
  })
}

async function listEnabled(database: Queryable): Promise<readonly FunctionReceiver[]> {
  return await database.many<FunctionReceiver & Record<string, unknown>>(sql`
    select function_name as name, tables[1] as table, events as actions
    from basalt.webhooks where enabled and function_name is not null`)
}

function formOf({ name, table, actions }: FunctionReceiver): string {
  return JSON.stringify([name, table, actions.toSorted()])
}
