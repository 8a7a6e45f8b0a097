import { setTimeout as delay } from 'node:timers/promises'
import type { BoundedAnswer, BoundedQuery } from '../../../database/connection/bounded-fetch.ts'
import type { Connection, Notice } from '../../../database/connection/connection.ts'
import { ConnectionLost } from '../../../database/errors/failures.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { SqlLoginUnavailable } from '../../../database/sql-login.ts'
import { queryableOn } from '../../../database/system-database.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { cutText } from '../../../lib/cut-text.ts'
import type { AppError } from '../../../lib/errors.ts'
import { codeOf } from '../../../lib/errors.ts'
import { sqlRunnerErrors } from './errors.ts'
import { nameTypes } from './queries.ts'
import type { RunRequest } from './request.ts'

export interface SessionDeps {
  readonly aside: Database['aside']
  readonly user: UserDatabase
  readonly engine: Pick<Database['engine'], 'isPooled'>
}

export type SessionOptions = Pick<
  RunRequest,
  'mode' | 'transaction' | 'scope' | 'timeoutSeconds' | 'isDeveloper'
>

/**
 * Interval at which a cancel is repeated. One that arrives between two statements has no effect (PostgreSQL,
 * Canceling Requests in Progress).
 */
const cancelEveryMs = 100
/** Time after which a connection is cut if its statement has not ended. */
const cutAfterMs = 5000

/**
 * Parts of `discard all` (PostgreSQL, DISCARD), which can only run by itself. They are sent in one message with the
 * end of the transaction, so that a pooler gives the session to no other client in between. Every connection has the
 * same encoding.
 */
const discards = [
  'set session authorization default',
  'reset all',
  `set client_encoding to 'UTF8'`,
  'deallocate all',
  'close all',
  'unlisten *',
  'select pg_catalog.pg_advisory_unlock_all()',
  'discard plans',
  'discard sequences',
  'discard temp',
]
/** Tags of the statements that end a transaction block. */
const blockEnds = new Set(['COMMIT', 'ROLLBACK', 'PREPARE TRANSACTION'])
/** Pattern of a statement that has such a tag but does not end the block. */
const rollbackToSavepoint = /^\s*rollback\s+((work|transaction)\s+)?to\s/i

/**
 * Connection outside the pools on which one run works: as the reader, the owner or the gateway, with the role and
 * claims of the run. It ends when its time is over or its signal aborts.
 */
export class SqlSession {
  readonly connection: Connection
  /** Role for which PostgreSQL checks privileges. */
  readonly role: string
  readonly #options: SessionOptions
  readonly #isPooled: boolean
  readonly #typeNames = new Map<number, string>()

  private constructor(connection: Connection, role: string, options: SessionOptions, isPooled: boolean) {
    this.connection = connection
    this.role = role
    this.#options = options
    this.#isPooled = isPooled
  }

  /** @throws AppError sql_read_only_unavailable; ConnectionLost, pg.DatabaseError */
  static async open({ aside, user, engine }: SessionDeps, options: SessionOptions): Promise<SqlSession> {
    const { mode, transaction, scope, timeoutSeconds } = options
    const connection = await openFor(aside, options)
    try {
      // The session's own clock ends a run. This timeout applies when the server has died.
      const timeoutMs = timeoutSeconds * 1000 + cutAfterMs
      if (transaction === 'all') await user.begin(connection, scope, timeoutMs)
      // Between two statements, a pooler gives the session to other clients.
      else if (!engine.isPooled) await connection.script(`set statement_timeout = ${timeoutMs}`)
      // Once a query has run, a transaction cannot become writable again (PostgreSQL, SET TRANSACTION).
      if (mode === 'read') await connection.script('set transaction read only')
      const { role } = await queryableOn(connection).one<{ role: string }>(
        sql`select current_user::text as role`,
      )
      return new SqlSession(connection, role, options, engine.isPooled)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  onNotice(listener: (notice: Notice & { readonly message: string }) => void): void {
    this.connection.onNotice((message, { severity, detail, hint }) =>
      listener({
        severity,
        message: cutText(message),
        detail: detail && cutText(detail),
        hint: hint && cutText(hint),
      }),
    )
  }

  /** Runs one statement. Behind a pooler, its settings end with its transaction. */
  async fetch(query: BoundedQuery): Promise<BoundedAnswer> {
    if (!this.#isPooled || this.#options.transaction === 'all') return await this.connection.fetch(query)
    const wasInTransaction = this.connection.isInTransaction
    const staysInTransaction = (tag = '') =>
      wasInTransaction
        ? !blockEnds.has(tag) || rollbackToSavepoint.test(query.text)
        : tag === 'BEGIN' || tag === 'START TRANSACTION'
    return await this.connection.fetch({
      ...query,
      followedBy: (tag) => (staysInTransaction(tag) ? [] : discards),
    })
  }

  /** Returns the names of the column types of a result, in order. */
  async namesOfTypes(fields: BoundedAnswer['fields']): Promise<string[]> {
    const unknown = new Set(fields.map(({ dataTypeID }) => dataTypeID))
    for (const oid of this.#typeNames.keys()) unknown.delete(oid)
    if (unknown.size > 0) {
      const names = await nameTypes(queryableOn(this.connection), [...unknown])
      for (const [oid, name] of names) this.#typeNames.set(oid, name)
    }
    return fields.map(({ dataTypeID }) => this.#typeNames.get(dataTypeID) ?? String(dataTypeID))
  }

  /** Ends the open transaction. @returns its outcome */
  async end(): Promise<'committed' | 'rolled back'> {
    const { mode, transaction } = this.#options
    if (transaction === 'all' && mode === 'write') {
      await this.#finish('commit')
      return 'committed'
    }
    if (!this.connection.isInTransaction) return 'committed'
    await this.#finish('rollback')
    return 'rolled back'
  }

  /** Closes the connection and thereby ends the transaction. */
  async close(): Promise<void> {
    if (this.#isPooled && this.connection.isOpen && this.connection.isInTransaction)
      await this.#finish('rollback').catch(() => undefined)
    await this.connection.close()
  }

  async #finish(command: 'commit' | 'rollback'): Promise<void> {
    await this.connection.script(this.#isPooled ? [command, ...discards].join(';') : command)
  }
}

/**
 * Opens the connection for a mode. An owner's write runs as the owner of the tables, who may change everything. As a
 * caller it logs in as callers do. A developer's write has a login of its own.
 */
async function openFor(
  aside: Database['aside'],
  { mode, scope, isDeveloper }: SessionOptions,
): Promise<Connection> {
  if (mode === 'write' && scope.kind !== 'unrestricted') return await aside.openFor(scope)
  if (mode === 'write' && !isDeveloper) return await aside.open()
  try {
    return await (mode === 'write' ? aside.openDeveloper() : aside.openReader())
  } catch (error) {
    if (!(error instanceof SqlLoginUnavailable)) throw error
    throw mode === 'write'
      ? sqlRunnerErrors.sqlWriteUnavailable(error.message)
      : sqlRunnerErrors.sqlReadOnlyUnavailable(error.message)
  }
}

/** Reason why a session was stopped from outside. */
type StopReason = 'canceled' | 'overdue'

/** Watch that stops the session's statements when their time is over, or the signal aborts. */
export class SessionWatch implements Disposable {
  readonly #session: SqlSession
  readonly #aside: Database['aside']
  readonly #seconds: number
  readonly #signal: AbortSignal
  readonly #timer: NodeJS.Timeout
  #reason: StopReason | undefined
  #isDone = false

  constructor(session: SqlSession, aside: Database['aside'], seconds: number, signal: AbortSignal) {
    this.#session = session
    this.#aside = aside
    this.#seconds = seconds
    this.#signal = signal
    this.#timer = setTimeout(() => this.#stop('overdue'), seconds * 1000).unref()
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#onAbort()
  }

  /** @throws AppError sql_run_canceled or sql_timeout when it has been stopped */
  check(): void {
    const failure = this.#failure
    if (failure !== undefined) throw failure
  }

  /** Explains a failed statement: its own error, or that it was stopped. */
  explain(error: unknown): unknown {
    const wasCut = error instanceof ConnectionLost || codeOf(error) === '57014'
    if (!wasCut) return error
    // Another node cancels only through the backend.
    return this.#failure ?? (codeOf(error) === '57014' ? sqlRunnerErrors.sqlRunCanceled() : error)
  }

  [Symbol.dispose](): void {
    this.#isDone = true
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  get #failure(): AppError | undefined {
    if (this.#reason === undefined) return undefined
    return this.#reason === 'overdue'
      ? sqlRunnerErrors.sqlTimeout(this.#seconds)
      : sqlRunnerErrors.sqlRunCanceled()
  }

  readonly #onAbort = () => this.#stop('canceled')

  #stop(reason: StopReason): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    void this.#cancel()
  }

  async #cancel(): Promise<void> {
    const { connection } = this.#session
    for (let forMs = 0; !this.#isDone && connection.isOpen; forMs += cancelEveryMs) {
      if (forMs > cutAfterMs) connection.destroy()
      else await this.#aside.cancel(connection)
      await delay(cancelEveryMs)
    }
  }
}
