import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import { parseDatabaseUrl } from '../database-url.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { Primary, type Servers } from '../primary/primary.ts'
import { type RenderedSql, render, type Sql } from '../sql.ts'
import { type BoundedAnswer, BoundedFetch, type BoundedQuery } from './bounded-fetch.ts'
import { CopiedRows, type CopiedRowsOptions } from './copied-rows.ts'
import { CopyIn, type RowSource } from './copy-in.ts'
import { CopyOut } from './copy-out.ts'
import { type Answer, type Call, Message, type Receiver } from './message.ts'
import { ScriptStatement } from './script-statement.ts'

/** Address of a database, and the settings that every session starts with. */
export interface ConnectionTarget {
  /** URL such as `postgresql://…`, with one host or several; `socket` is the alternative. */
  readonly url?: string
  readonly socket?: {
    readonly directory: string
    /** Port in the name of the socket file. */
    readonly port: number
    readonly user: string
    readonly password: string
    readonly database: string
  }
  readonly applicationName: string
  /** Settings sent at connect. They are omitted behind a transaction pooler, which shares sessions. */
  readonly settings: Readonly<Record<string, string>>
  /** True if named prepared statements survive between messages. */
  readonly prepare: boolean
  readonly connectTimeoutMs: number
  /** Role to log in as, instead of that of the URL or socket. */
  readonly login?: { readonly user: string; readonly password: string }
  /**
   * True for a connection to a WAL sender, which makes base backups (PostgreSQL, Streaming Replication
   * Protocol).
   */
  readonly replication?: boolean
  /** Process ids of the open sessions, of all targets that share the set. */
  readonly sessions?: Set<number>
  /** Knowledge about the primary, of all targets that share it. Without it, each opening searches anew. */
  readonly primary?: Primary
}

/** Notice that PostgreSQL sends beside the result (PostgreSQL, Error and Notice Message Fields). */
export interface Notice {
  readonly severity?: string | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
}

/** Members of node-postgres that its types do not list. */
interface ClientInternals {
  /** Process id from BackendKeyData. */
  readonly processID: number
  /** True if the last message of Postgres was ReadyForQuery. */
  readonly readyForQuery: boolean
  /** Returns the status of the last ReadyForQuery: idle, in a transaction, in a failed one. */
  getTransactionStatus(): 'I' | 'T' | 'E' | null
  readonly connection: {
    readonly stream: Socket
    on(event: 'parameterStatus', listener: (status: ParameterStatus) => void): void
    on(event: 'errorMessage', listener: (error: { readonly code?: string }) => void): void
    on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): void
    emit(event: 'error', error: Error): void
  }
}

/** Setting that PostgreSQL reports at connect and after each change (PostgreSQL, Asynchronous Operations). */
interface ParameterStatus {
  readonly parameterName: string
  readonly parameterValue: string
}

/** Reported settings that make every transaction of a session read-only. */
const readOnlyParameters = new Set(['in_hot_standby', 'default_transaction_read_only'])
/** SQLSTATE of a write in a read-only transaction. */
const readOnlyTransaction = '25006'
/** Function of PostgreSQL that warns when a commit no longer waits for its standby. The text depends on the language. */
const standbyWait = 'SyncRepWaitForLSN'

/** Events that end the work in flight: ReadyForQuery with an empty queue, or the end of the connection. */
const settlingEvents = ['drain', 'error', 'end'] as const

/** Time limit for a graceful close; a half-open connection never responds to it. */
const closeTimeoutMs = 2000

/** One connection to Postgres that does one thing at a time. */
export class Connection {
  readonly #client: pg.Client
  readonly #target: ConnectionTarget
  readonly #prepare: boolean
  readonly #closeListeners: (() => void)[] = []
  /** Reported settings that make the session read-only. */
  readonly #readOnlyBy = new Set<string>()
  #closed = false

  private constructor(client: pg.Client, target: ConnectionTarget) {
    this.#client = client
    this.#target = target
    this.#prepare = target.prepare
    const markClosed = () => {
      if (this.#closed) return
      this.#closed = true
      target.sessions?.delete(this.backendPid)
      for (const listener of this.#closeListeners) listener()
    }
    // Without a listener, an error of an idle connection (Postgres restarts) would end the process.
    client.on('error', markClosed)
    client.on('end', markClosed)
    const { connection } = this.#internals
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (!readOnlyParameters.has(parameterName)) return
      if (parameterValue === 'on') this.#readOnlyBy.add(parameterName)
      else this.#readOnlyBy.delete(parameterName)
    })
    connection.on('errorMessage', ({ code }) => {
      if (code === readOnlyTransaction) target.primary?.reportReadOnly()
    })
    connection.on('notice', ({ routine }) => {
      if (routine !== standbyWait) return
      // The commit is only local, so its outcome is unknown. ReadyForQuery may be in the same packet, before any later event.
      connection.emit('error', new Error('a synchronous standby has not confirmed the commit'))
      this.destroy()
    })
  }

  /**
   * Opens a connection, to the primary if the URL names several hosts.
   *
   * @throws ConnectionLost when Postgres is unavailable; its `cause` has the reason
   */
  static async open(target: ConnectionTarget): Promise<Connection> {
    const servers = Connection.serversOf(target)
    if (servers === undefined) return await Connection.#openWith(target, clientConfig(target, {}))
    return await (target.primary ?? new Primary()).open(servers)
  }

  /** Returns the servers of the target's URL. */
  static serversOf(target: ConnectionTarget): Servers<Connection> | undefined {
    if (target.socket !== undefined) return undefined
    const { hosts, target: sessionTarget, config } = parseDatabaseUrl(target.url ?? '')
    return {
      hosts,
      target: sessionTarget,
      timeoutMs: target.connectTimeoutMs,
      openAt: ({ host, port }) =>
        Connection.#openWith(
          target,
          clientConfig(target, {
            ...config,
            ...(host === undefined ? {} : { host }),
            ...(port === undefined ? {} : { port }),
          }),
        ),
    }
  }

  static async #openWith(target: ConnectionTarget, config: pg.ClientConfig): Promise<Connection> {
    const client = new pg.Client(config)
    const connection = new Connection(client, target)
    try {
      await client.connect()
    } catch (cause) {
      connection.destroy()
      throw new ConnectionLost('cannot connect to the database', { cause })
    }
    if (connection.isOpen) target.sessions?.add(connection.backendPid)
    return connection
  }

  /** Opens another connection, with the same login unless another is given. @throws ConnectionLost */
  openTwin(login = this.#target.login): Promise<Connection> {
    return Connection.open(login === undefined ? this.#target : { ...this.#target, login })
  }

  get isOpen(): boolean {
    return !this.#closed
  }

  /** True if the server has reported that it is a standby, or that its transactions are read-only by default. */
  get isReadOnly(): boolean {
    return this.#readOnlyBy.size > 0
  }

  /** Process id of the backend, as it was reported at connect; a transaction pooler invents one. */
  get backendPid(): number {
    return this.#internals.processID
  }

  /**
   * True if nothing is in flight. After an error the rest of the message is still on its way. After a fatal one
   * (the backend was terminated) it is the end of the connection.
   */
  get isReady(): boolean {
    return this.#closed || this.#internals.readyForQuery
  }

  /** Resolves when nothing is in flight, or the connection is closed. */
  async whenReady(): Promise<void> {
    if (this.isReady) return
    await new Promise<void>((resolve) => {
      const client = this.#client
      const finish = () => {
        for (const event of settlingEvents) client.off(event, finish)
        resolve()
      }
      for (const event of settlingEvents) client.on(event, finish)
    })
  }

  /** Number of bytes read and written so far. */
  get traffic(): number {
    const { bytesRead, bytesWritten } = this.#internals.connection.stream
    return bytesRead + bytesWritten
  }

  onClose(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  /** Adds a listener for notifications on the session's channels (PostgreSQL, LISTEN). */
  onNotification(
    listener: (notification: { readonly payload: string; readonly processId: number }) => void,
  ): void {
    this.#client.on('notification', ({ payload = '', processId }) => listener({ payload, processId }))
  }

  onNotice(listener: (message: string, notice: Notice) => void): void {
    this.#client.on('notice', (notice) => listener(notice.message ?? '', notice))
  }

  /** Runs the calls in one message and one transaction. */
  send(calls: readonly Call[]): Promise<readonly Answer[]> {
    return new Promise((receive, fail) => this.sendEach([{ calls, receive, fail }]))
  }

  /**
   * Runs several messages in order, each in its own transaction. They are sent together, except behind a pooler. It takes the
   * result of one as the end of the client's work, and may give its session to another client in the middle of the next.
   */
  sendEach(outgoing: readonly (Receiver & { readonly calls: readonly Call[] })[]): void {
    const [first, ...followers] = outgoing.map((each) => new Message(each.calls, this.#prepare, each))
    if (first === undefined) return
    if (followers.length > 0) first.leads(followers, this.#prepare, (next) => void this.#client.query(next))
    this.#client.query(first)
  }

  /** Runs one statement of our own and returns its rows, parsed by type. */
  async query<Row extends pg.QueryResultRow>(statement: Sql | RenderedSql): Promise<pg.QueryResult<Row>> {
    const { text, values, isPrepared = false } = 'text' in statement ? statement : render(statement)
    const config = { text, values: [...values] }
    if (!isPrepared || !this.#prepare) return await this.#reportLoss(() => this.#client.query<Row>(config))
    const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    return await this.#reportLoss(() => this.#client.query<Row>({ name, ...config }))
  }

  /**
   * Runs a script of several statements without parameters: a migration, or a file of `basalt sql`.
   *
   * @param types parsers of the values; rows then are arrays
   */
  async script(text: string, types?: pg.CustomTypesConfig): Promise<pg.QueryResult[]> {
    const config = types === undefined ? { text } : ({ text, types, rowMode: 'array' } as const)
    const results: pg.QueryResult | pg.QueryResult[] = await this.#reportLoss(() =>
      this.#client.query(config),
    )
    // For several statements node-postgres returns an array, which its types omit.
    return Array.isArray(results) ? results : [results]
  }

  /**
   * Rolls back a failed transaction. A connection on which the rollback fails is in an unknown state, and is
   * closed.
   */
  async rollback(): Promise<void> {
    await this.script('rollback').catch(() => this.destroy())
  }

  /**
   * Runs one statement by the extended query protocol, which rejects a second one. Where a text is split
   * depends on settings that the text itself can change (PostgreSQL, standard_conforming_strings).
   *
   * @returns the number of rows that it returned or changed
   */
  async statement(text: string): Promise<number> {
    return await this.#reportLoss(() => this.#client.query(new ScriptStatement(text)).ended)
  }

  /** Runs a command that responds by the copy protocol; the stream contains its messages. */
  copyOut(command: string): CopyOut {
    return this.#client.query(new CopyOut(command))
  }

  /** Runs a COPY to the client and the end of its transaction; the stream contains the rows. */
  copyRows(command: string, options: CopiedRowsOptions): CopiedRows {
    return this.#client.query(new CopiedRows(command, options))
  }

  /** Runs a `copy … from stdin` with the rows of the source. @throws the errors of {@link CopyIn.ended} */
  async copyIn(command: string, source: RowSource): Promise<void> {
    await this.#client.query(new CopyIn(command, source)).ended
  }

  /** Runs one statement up to a number of rows. @throws pg.DatabaseError, ConnectionLost */
  async fetch(query: BoundedQuery): Promise<BoundedAnswer> {
    return await this.#client.query(new BoundedFetch(query)).answered
  }

  /** True if the session was in a transaction block at the last result. */
  get isInTransaction(): boolean {
    return this.#internals.getTransactionStatus() !== 'I'
  }

  /** Closes the session and waits until the socket is closed. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), closeTimeoutMs)
    await this.#client.end().catch(() => undefined)
    clearTimeout(timer)
  }

  /** Destroys the socket; work in flight fails with {@link ConnectionLost}. */
  destroy(): void {
    this.#internals.connection.stream.destroy(new Error('connection destroyed'))
  }

  get #internals(): ClientInternals {
    return this.#client as unknown as ClientInternals
  }

  async #reportLoss<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof pg.DatabaseError) throw error
      throw new ConnectionLost('the database connection broke during a statement', { cause: error })
    }
  }
}

/** @param server address, and other parts of a URL */
function clientConfig(target: ConnectionTarget, server: pg.ClientConfig): pg.ClientConfig {
  const settings = Object.entries(target.settings).map(([name, value]) => `-c ${name}=${escapeOption(value)}`)
  const common: pg.ClientConfig = {
    application_name: target.applicationName,
    connectionTimeoutMillis: target.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // The driver passes this option on; its types do not list it.
    ...(target.replication === true ? { replication: 'true' } : {}),
  }
  if (target.socket !== undefined) {
    const { directory, port, user, password, database } = target.socket
    // Empty options would come from PGPORT, PGSSLMODE and PGOPTIONS, which are meant for another server.
    const options = settings.join(' ') || ' '
    const address = { host: directory, port, database, ssl: false }
    return { ...common, ...address, user, password, options, ...target.login }
  }
  const options = [server.options ?? '', ...settings].join(' ').trim()
  return { ...common, ...server, ...(options === '' ? {} : { options }), ...target.login }
}

/** Escapes blanks and backslashes for `options` in the startup packet. */
function escapeOption(value: string): string {
  return value.replace(/[\\\s]/g, (character) => `\\${character}`)
}
