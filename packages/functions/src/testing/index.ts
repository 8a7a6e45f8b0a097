import { resolve } from 'node:path'
import { BasaltError } from '@basaltdb/client'
import { type CallDatabase, createDatabase } from '../database.ts'
import {
  type AnyCall,
  type Call,
  nameOf,
  referenceOf,
  sentOptions,
  type TestCaller,
  type TestUser,
} from './calls.ts'
import { FetchStubs, type TestFetch } from './fetch-stub.ts'
import { readOutcome, type SentOutcome } from './outcome.ts'
import { TestServer } from './server.ts'

export type { FunctionDefinition } from '../definition.ts'
export type {
  AnyCall,
  Call,
  CallOptions,
  JobCall,
  Json,
  RouteCall,
  TestCaller,
  TestUser,
} from './calls.ts'
export type { TestFetch } from './fetch-stub.ts'
export type { AddedJob, Outcome, SentBroadcast } from './outcome.ts'
export type { LogLine } from './server.ts'

export interface TestOptions {
  /** Folder of the project, which has `basalt.toml`. Default: the current folder. */
  readonly project?: string | undefined
  /**
   * Content of the database. `migrations` makes it of the migrations, `schema/current.sql` and `seed.sql`. `rows` copies the database
   * of the project with its rows, which ends the sessions in it for a moment. Default: `migrations`.
   */
  readonly from?: 'migrations' | 'rows' | undefined
  /** Secrets of the functions. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** Function that serves the requests of `ctx.fetch`. Without it they fail. */
  readonly fetch?: TestFetch | undefined
}

export interface NewUser {
  /** UUID. Default: a random one. */
  readonly id?: string | undefined
  readonly email?: string | undefined
  /** Default: true. */
  readonly isEmailVerified?: boolean | undefined
}

/** Transaction of a test. Its calls see the effects of each other, and all of them are undone at its end. */
export interface TestTransaction {
  readonly call: Call
  /** Returns the database as a caller. Each statement passes hooks and policies like a request of that caller. */
  readonly db: (as: TestCaller) => CallDatabase
}

/** Database of a test file. */
export interface TestDatabase extends AsyncDisposable {
  /** Calls a function in a transaction of its own, which is undone. */
  readonly call: Call
  /** Runs work in one transaction, and undoes it. */
  transaction<Result>(work: (transaction: TestTransaction) => Promise<Result>): Promise<Result>
  /** Creates a user, who remains until the database is dropped. @throws BasaltError */
  createUser(user?: NewUser): Promise<TestUser>
  /** Drops the database. The end of the test's process does the same. */
  close(): Promise<void>
}

/**
 * Creates a database for the tests of a file, and starts the server of the project on it. The server runs the functions as it does in
 * production; it sends nothing, and commits nothing. Only a configuration for development is accepted.
 *
 * @throws Error if the project has no server; BasaltError if the database or the functions have a fault
 */
export async function testDatabase(options: TestOptions = {}): Promise<TestDatabase> {
  const { project = process.cwd(), from = 'migrations', secrets = {}, fetch: commonFetch } = options
  const server = new TestServer(resolve(project))
  const stubs = new FetchStubs()
  const close = async () => {
    await stubs.close()
    await server.close()
  }
  try {
    await server.send({ type: 'open', from, secrets })
  } catch (error) {
    await close()
    throw error
  }

  /** Begins a transaction on the server. @returns its calls, and its end */
  async function begin() {
    const { value: transaction } = await server.send({ type: 'begin' })
    const call = (async (fn: Parameters<typeof referenceOf>[0], given: AnyCall = {}) => {
      const reference = referenceOf(fn)
      return await stubs.during(given.fetch ?? commonFetch, async (stub) => {
        const call = { ...sentOptions(given), function: reference, fetch: stub }
        const { value, logs } = await server.send({ type: 'call', transaction, call })
        return readOutcome(value as SentOutcome, logs)
      })
    }) as Call
    const db = (as: TestCaller) =>
      openDatabase({ transaction, as: nameOf(as) }, (message) =>
        stubs.during(commonFetch, (stub) => server.send({ ...message, fetch: stub })),
      )
    return { calls: { call, db }, end: () => server.send({ type: 'end', transaction }) }
  }

  async function transaction<Result>(work: (calls: TestTransaction) => Promise<Result>): Promise<Result> {
    const { calls, end } = await begin()
    try {
      return await work(calls)
    } finally {
      await end()
    }
  }

  return {
    transaction,
    // The types are those of the call in the transaction.
    call: ((fn: string, given?: AnyCall) => transaction(({ call }) => call(fn, given))) as Call,
    async createUser(user = {}) {
      const { value } = await server.send({ type: 'user', user })
      return { id: String(value), email: user.email }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Reply to a request for data. */
type DataReply =
  | { readonly type: 'reply'; readonly status: number; readonly body: string; readonly etag?: string }
  | { readonly type: 'rows'; readonly rows: string; readonly count: number }

function openDatabase(
  terms: object,
  sendMessage: (message: object) => ReturnType<TestServer['send']>,
): CallDatabase {
  const send = async (message: object) => {
    const { value } = await sendMessage({ ...terms, type: 'data', message: { ...message, call: '', id: 0 } })
    return value as DataReply
  }
  return createDatabase({
    async request(request) {
      const reply = await send({ ...request, type: 'request' })
      if (reply.type !== 'reply') throw new Error('the server has sent another reply')
      return { status: reply.status, body: reply.body, etag: reply.etag }
    },
    async sql(text, values) {
      const reply = await send({ type: 'sql', text, values })
      if (reply.type === 'rows') return reply
      const { message, ...detail } = JSON.parse(reply.body) as { message: string; error: string }
      throw new BasaltError(message, { ...detail, status: reply.status })
    },
  })
}
