import pg from 'pg'
import { hashPassword } from '../src/features/identity/passwords/password-hash.ts'
import { type AccountsApp, createAccountsApp, newEmail } from './accounts.ts'
import { type Inbox, tokenIn } from './inbox.ts'
import type { TestApp, TestAppOptions, TestDatabase, TestResponse } from './test-app.ts'
import { waitFor } from './wait-for.ts'

/** Two nodes on one database, with one inbox between them. */
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

const mails = {
  'password-reset': '/auth/reset-password',
  'magic-link': '/auth/magic-link',
} as const

/** Asks for a mail and answers the token of its link; mails for other purposes are passed over. */
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

/** A user made without a request: unverified, and without a password unless one is given. */
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

/** Asks for the caller's own account. */
export const askMe = (node: TestApp, token: string) => node.request('GET', '/api/auth/me', { token })

/** Waits until a token opens nothing on any node; it has a second for that, and some slack. */
export async function waitUntilDead({ both }: AccountNodes, token: string): Promise<void> {
  for (const { app } of both) {
    await waitFor('the token to end', async () => (await askMe(app, token)).status === 401, 3000)
  }
}

/** Waits until no job is left to do or in flight. */
export async function waitForJobs({ sql }: Pick<AccountNodes, 'sql'>): Promise<void> {
  await waitFor('the jobs to be done', async () => {
    const open = await sql(`select 1 from basalt.jobs where state in ('queued', 'running')`)
    return open.length === 0
  })
}

/** A transaction of another client, held open while requests run into it. */
export interface OpenTransaction extends AsyncDisposable {
  sql(text: string, values?: readonly unknown[]): Promise<void>
  /** Waits until so many sessions wait for a lock that this transaction holds, or behind one that does. */
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
