import { setMaxListeners } from 'node:events'
import type { Config } from '../../configuration.ts'
import { Connection, type ConnectionTarget } from '../../database/connection/connection.ts'
import { branchUrl, describeHost } from '../../database/database-url.ts'
import { hasCluster } from '../../database/embedded/cluster.ts'
import { ConnectionLost } from '../../database/errors/failures.ts'
import { openConnection } from '../../database/open.ts'
import { sql } from '../../database/sql.ts'
import { type Queryable, queryableOn } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import { CheckSkipped } from './check-skipped.ts'
import { reasonOf } from './exchange.ts'

const purpose = 'basalt doctor'
const connectTimeoutMs = 3000
/** Maximum run time of a statement. */
const statementTimeoutMs = 5000
/** Maximum number of checks that use the database at once. Few connections may be left. */
const slots = 3

type Work<Result> = (connection: Connection) => Promise<Result>

/** Connection to the configured database, or the reason why there is none. */
export type DatabaseState =
  | { readonly kind: 'connected'; readonly connectMs: number }
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The embedded database is not created before the first start. */
  | { readonly kind: 'absent'; readonly reason: string }

/** Result of work on one host, or the reason why there is none. */
export type HostOutcome<Result> = { readonly host: string } & (
  | { readonly result: Result }
  | { readonly reason: string }
)

type Opened = Awaited<ReturnType<typeof openConnection>>

/** Access of one check to the configured database. Nothing of it outlives the check. */
export interface DatabaseAccess {
  readonly state: DatabaseState
  /**
   * Runs the work on a connection of its own, as the login of `database.url`.
   *
   * @throws CheckSkipped if the database is unavailable
   */
  use<Result>(work: Work<Result>): Promise<Result>
  /** Runs the work as another login. */
  useAs<Result>(
    login: { readonly user: string; readonly password: string },
    work: Work<Result>,
  ): Promise<Result>
  /** Runs the work on a connection to another URL, of the same branch. */
  useUrl<Result>(url: string, work: Work<Result>): Promise<Result>
  /** Runs the work on each host of `database.url`, also if the database cannot be reached. */
  useHosts<Result>(work: Work<Result>): Promise<readonly HostOutcome<Result>[]>
  /** Runs the work in a read-only transaction. @throws CheckSkipped if the database is unavailable */
  read<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>
  /** Reads a database that a start has prepared. @throws CheckSkipped for any other */
  readPrepared<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>
}

/** Configured database, reached as the server reaches it. */
export class DoctorDatabase {
  readonly #url: string
  readonly #branch: string
  readonly #state: DatabaseState
  readonly #opened: Opened | undefined
  readonly #waiting: (() => void)[] = []
  #free = slots

  private constructor({ url, branch }: Config['database'], state: DatabaseState, opened?: Opened) {
    this.#url = url
    this.#branch = branch
    this.#state = state
    this.#opened = opened
  }

  /**
   * Connects. A stopped embedded database is started meanwhile, as every command does. One that does not exist
   * is not created.
   */
  static async open(config: Config): Promise<DoctorDatabase> {
    const { data_dir } = config.server
    if (config.database.url === '' && !hasCluster(data_dir))
      return new DoctorDatabase(config.database, {
        kind: 'absent',
        reason: `${data_dir} has no database yet`,
      })
    const began = performance.now()
    try {
      const opened = await openConnection(config, { purpose, asServer: false, log: () => undefined })
      const connectMs = performance.now() - began
      return new DoctorDatabase(config.database, { kind: 'connected', connectMs }, opened)
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      return new DoctorDatabase(config.database, { kind: 'unreachable', reason: error.message })
    }
  }

  async close(): Promise<void> {
    await this.#opened?.close()
  }

  /** Returns the access of a check, whose connections break when the signal aborts. */
  accessFor(signal: AbortSignal): DatabaseAccess {
    setMaxListeners(0, signal)
    const within = <Result>(open: (first: Connection) => Promise<Connection>, work: Work<Result>) =>
      this.#within(signal, open, work)
    const use = <Result>(work: Work<Result>) => within((first) => first.openTwin(), work)
    const read = <Result>(work: (transaction: Queryable) => Promise<Result>) =>
      use((connection) => inReadOnly(connection, work))
    return {
      state: this.#state,
      use,
      useAs: (login, work) => within((first) => first.openTwin(login), work),
      useUrl: (url, work) => within(() => Connection.open(this.#targetOf(url)), work),
      useHosts: async (work) => {
        const servers = this.#url === '' ? undefined : Connection.serversOf(this.#targetOf(this.#url))
        if (servers === undefined) return []
        const outcomes = servers.hosts.map(
          async (host): Promise<HostOutcome<Awaited<ReturnType<typeof work>>>> => {
            try {
              return {
                host: describeHost(host),
                result: await onConnection(await servers.openAt(host), signal, work),
              }
            } catch (error) {
              if (!(error instanceof ConnectionLost)) throw error
              return { host: describeHost(host), reason: reasonOf(error.cause) }
            }
          },
        )
        return await Promise.all(outcomes)
      },
      read,
      readPrepared: (work) =>
        read(async (transaction) => {
          const { prepared } = await transaction.one<{ prepared: boolean }>(
            sql`select to_regclass('basalt.opened_schemas') is not null as prepared`,
          )
          if (!prepared) throw new CheckSkipped('the first start has not prepared the database yet')
          return await work(transaction)
        }),
    }
  }

  async #within<Result>(
    signal: AbortSignal,
    open: (first: Connection) => Promise<Connection>,
    work: Work<Result>,
  ): Promise<Result> {
    if (this.#opened === undefined) {
      throw new CheckSkipped(
        this.#state.kind === 'absent' ? this.#state.reason : 'the database cannot be reached',
      )
    }
    await this.#acquire()
    try {
      signal.throwIfAborted()
      return await onConnection(await open(this.#opened.connection), signal, work)
    } finally {
      this.#release()
    }
  }

  #targetOf(url: string): ConnectionTarget {
    const target = { url: branchUrl(url, this.#branch), applicationName: purpose, connectTimeoutMs }
    return { ...target, settings: {}, prepare: false }
  }

  async #acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}

/** Runs the work, and closes the connection. It breaks when the signal aborts. */
async function onConnection<Result>(
  connection: Connection,
  signal: AbortSignal,
  work: Work<Result>,
): Promise<Result> {
  const destroy = () => connection.destroy()
  signal.addEventListener('abort', destroy)
  try {
    signal.throwIfAborted()
    return await work(connection)
  } finally {
    signal.removeEventListener('abort', destroy)
    if (connection.isOpen) await connection.close()
  }
}

async function inReadOnly<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  await connection.script(
    `begin isolation level read committed read only; set local statement_timeout = '${statementTimeoutMs}ms'`,
  )
  try {
    return await work(queryableOn(connection))
  } finally {
    await connection.rollback()
  }
}
