import pg from 'pg'
import { type AccountsApp, createAccountsApp } from './accounts.ts'
import type { TestAppOptions, TestDatabase, TestResponse } from './test-app.ts'
import { waitFor } from './wait-for.ts'

/** Two nodes on one database, with one inbox between them. */
export interface AccountNodes extends AsyncDisposable {
  readonly first: AccountsApp
  readonly second: AccountsApp
  readonly both: readonly [AccountsApp, AccountsApp]
  readonly sql: TestDatabase['sql']
}

export async function createAccountNodes(config: TestAppOptions['config'] = {}): Promise<AccountNodes> {
  const first = await createAccountsApp({ config })
  const second = await createAccountsApp({ config, database: first.app.database, inbox: first.inbox })
  return {
    first,
    second,
    both: [first, second],
    sql: first.app.sql,
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    },
  }
}

/** Lets the requests go together, every other one to the second node. */
export function together(
  { both }: AccountNodes,
  count: number,
  ask: (node: AccountsApp, index: number) => Promise<TestResponse>,
): Promise<TestResponse[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => ask(index % 2 === 0 ? both[0] : both[1], index)),
  )
}

/** How many responses had which status. */
export function countStatuses(responses: readonly TestResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** A transaction of somebody else's, held open while requests run into it. */
export interface OpenTransaction extends AsyncDisposable {
  sql(text: string, values?: readonly unknown[]): Promise<void>
  /** Waits until so many sessions wait for a lock that this transaction holds. */
  waitForBlocked(count?: number): Promise<void>
  commit(): Promise<void>
}

export async function openTransaction({ url }: TestDatabase): Promise<OpenTransaction> {
  const client = new pg.Client({ connectionString: url })
  const watch = new pg.Client({ connectionString: url })
  await Promise.all([client.connect(), watch.connect()])
  await client.query('begin')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid
  return {
    async sql(text, values = []) {
      await client.query(text, [...values])
    },
    async waitForBlocked(count = 1) {
      await waitFor(`${count} sessions to wait for a lock`, async () => {
        const waiting = await watch.query(
          'select 1 from pg_stat_activity where datname = current_database() and $1 = any(pg_blocking_pids(pid))',
          [pid],
        )
        return waiting.rows.length >= count
      })
    },
    async commit() {
      await client.query('commit')
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([client.end(), watch.end()])
    },
  }
}
