import pg from 'pg'
import { hashPassword } from '../src/features/identity/passwords/password-hash.ts'
import { type AccountsApp, createAccountsApp, newEmail } from './accounts.ts'
import { type Inbox, tokenIn } from './inbox.ts'
import type { TestApp, TestAppOptions, TestDatabase, TestResponse } from './test-app.ts'
import { waitFor } from './wait-for.ts'

/** Two nodes on one database with one inbox. */
export interface AccountNodes extends AsyncDisposable {
  readonly first: AccountsApp
  readonly second: AccountsApp
  readonly both: readonly [AccountsApp, AccountsApp]
  readonly inbox: Inbox
  readonly database: TestDatabase
  readonly sql: TestDatabase['sql']
}

export async function createAccountNodes(
  options: Pick<TestAppOptions, 'config' | 'setup'> = {},
): Promise<AccountNodes> {
  const first = await createAccountsApp(options)
  const { inbox } = first
  const { setup: _, ...alike } = options
  const second = await createAccountsApp({ ...alike, database: first.app.database, inbox })
  return {
    first,
    second,
    both: [first, second],
    inbox,
    database: first.app.database,
    sql: first.app.sql,
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    },
  }
}

/** Sends the requests concurrently, alternating between the nodes. */
export function together(
  { both }: AccountNodes,
  count: number,
  request: (node: AccountsApp, index: number) => Promise<TestResponse>,
): Promise<TestResponse[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => request(index % 2 === 0 ? both[0] : both[1], index)),
  )
}

/** Counts responses by status. */
export function countStatuses(responses: readonly TestResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const mails = {
  'password-reset': '/auth/reset-password',
  'magic-link': '/auth/magic-link',
} as const

/** Requests a mail and returns the token of its link. Mails for other purposes are skipped. */
export async function mailedToken(
  { post, inbox }: AccountsApp,
  request: keyof typeof mails,
  email: string,
): Promise<string> {
  const response = await post(request, { email })
  if (response.status !== 200) throw new Error(`${request}: ${response.text}`)
  for (;;) {
    const mail = await inbox.take(email)
    if (mail.text?.includes(mails[request]) === true) return tokenIn(mail)
  }
}

export interface StoredUser {
  readonly id: string
  readonly email: string
}

/** Inserts a user without a request: unverified, and without a password by default. */
export async function insertUser(
  { sql }: Pick<AccountNodes, 'sql'>,
  {
    email = newEmail(),
    password,
    isVerified = false,
  }: { email?: string; password?: string; isVerified?: boolean } = {},
): Promise<StoredUser> {
  const [row] = await sql<{ id: string }>(
    `insert into basalt.users (email, password_hash, email_verified_at)
     values ($1, $2, case when $3::bool then now() end) returning id`,
    [email, password === undefined ? null : await hashPassword(password), isVerified],
  )
  if (row === undefined) throw new Error('no user was made')
  return { id: row.id, email }
}

/** Requests the caller's own account. */
export const getMe = (node: TestApp, token: string) => node.request('GET', '/api/auth/me', { token })

/** Waits until every node rejects a token, which must happen within a second. */
export async function waitUntilDead({ both }: AccountNodes, token: string): Promise<void> {
  for (const { app } of both) {
    await waitFor('the token to end', async () => (await getMe(app, token)).status === 401)
  }
}

/** Waits until no job is pending or in flight. */
export async function waitForJobs({ sql }: Pick<AccountNodes, 'sql'>): Promise<void> {
  await waitFor('the jobs to be done', async () => {
    const open = await sql(`select 1 from basalt.jobs where state in ('queued', 'running')`)
    return open.length === 0
  })
}

/** Transaction of another client, held open while requests run into it. */
export interface OpenTransaction extends AsyncDisposable {
  sql(text: string, values?: readonly unknown[]): Promise<void>
  /** Waits until so many sessions wait for a lock of this transaction, directly or indirectly. */
  waitForBlocked(count?: number): Promise<void>
  commit(): Promise<void>
}

export async function openTransaction({ url }: TestDatabase): Promise<OpenTransaction> {
  const client = new pg.Client({ connectionString: url })
  const watch = new pg.Client({ connectionString: url })
  await Promise.all([client.connect(), watch.connect()])
  await client.query('begin')
  return {
    async sql(text, values = []) {
      await client.query(text, [...values])
    },
    async waitForBlocked(count = 1) {
      await waitFor(`${count} sessions to wait for a lock`, async () => {
        const { rows } = await watch.query(
          'select 1 from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
        )
        return rows.length >= count
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
