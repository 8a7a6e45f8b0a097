import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Logger } from 'pino'
import { messageOf } from '../../lib/errors.ts'
import { type Timer, whenLate } from '../../lib/timer.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { type Sql, sql } from '../sql.ts'
import { type Queryable, queryableOn } from '../system-database.ts'

/** Channel of `NOTIFY`; the payload is a topic. */
export const notificationChannel = 'basalt'

/** Maximum time of a connect, a statement or a notification on a working connection. */
const answerMs = 2000
/** Time after which a statement is sent by the pool, too, so that a node sees every change within a second. */
export const slowMs = 300
/** Delay between attempts to connect, which doubles each time up to the longest. */
const firstRetryMs = 250
const longestRetryMs = 5000
/**
 * Delay between attempts while the connection works but delivers no notifications. An operator has to fix that.
 */
const undeliveredRetryMs = 60_000

export interface NotificationListenerOptions {
  /** Opens a connection that no pooler shares. */
  readonly open: () => Promise<Connection>
  /** Access to the same database by another connection. */
  readonly database: Pick<Queryable, 'one'>
  readonly onNotification: (topic: string) => void
  /** Runs when notifications arrive from now on; earlier ones are lost. */
  readonly onConnect: () => void
  /** Runs at least once when a connection breaks or does not respond. */
  readonly onLoss: () => void
  readonly log: Logger
  readonly timer: Timer
}

/**
 * Connection of a node for notifications. Their arrival is tested on every new connection. A pooler in
 * transaction mode accepts `LISTEN` and delivers nothing, and a URL may lead to another database.
 */
export class NotificationListener {
  readonly #options: NotificationListenerOptions
  #connection: Connection | undefined
  /** Connections with an overdue result. */
  readonly #slow = new WeakSet<Connection>()
  #attempt: Promise<void> | undefined
  #retryMs = firstRetryMs
  #cancelRetry: (() => void) | undefined
  #isStopped = false
  /** True once the outage has been logged. */
  #hasWarned = false

  constructor(options: NotificationListenerOptions) {
    this.#options = options
  }

  /** Open connection on which notifications arrive. */
  get connection(): Connection | undefined {
    return this.#connection
  }

  /** Resolves when the first attempt has succeeded or failed; others follow. */
  start(): Promise<void> {
    this.#attempt = this.#connect().catch((error) => this.#retry(error))
    return this.#attempt
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelRetry?.()
    await this.#attempt
    await this.#connection?.close()
  }

  /**
   * Runs the statement on this connection, which costs the pool nothing. If that fails or takes long, it uses
   * the pool.
   */
  async one<Row extends pg.QueryResultRow>(statement: Sql): Promise<Row> {
    const { database, timer } = this.#options
    const connection = this.#connection
    if (connection === undefined || this.#slow.has(connection)) return await database.one<Row>(statement)
    const answer = this.#oneOn<Row>(connection, statement)
    const slow = Promise.withResolvers<undefined>()
    const cancel = whenLate(slowMs, () => slow.resolve(undefined), timer)
    const row = await Promise.race([answer, slow.promise]).finally(cancel)
    if (row !== undefined) return row
    this.#slow.add(connection)
    void answer.catch(() => undefined).then(() => this.#slow.delete(connection))
    const pooled = database.one<Row>(statement)
    return await Promise.any([answer, pooled]).catch(() => pooled)
  }

  async #oneOn<Row extends pg.QueryResultRow>(connection: Connection, statement: Sql): Promise<Row> {
    const { database, onLoss, timer } = this.#options
    try {
      return await answerOf(queryableOn(connection).one<Row>(statement), 'no answer', timer)
    } catch (error) {
      // The statement is at fault. Any other failure is that of the connection, or of a backend that ends.
      if (error instanceof pg.DatabaseError && error.code?.startsWith('57P') !== true) throw error
      onLoss()
      connection.destroy()
      return await database.one<Row>(statement)
    }
  }

  async #connect(): Promise<void> {
    const { open, database, onNotification, onConnect, timer, log } = this.#options
    const connection = await open()
    try {
      const probe = randomUUID()
      const arrival = Promise.withResolvers<void>()
      connection.onNotification(({ payload, processId }) => {
        if (payload === probe) arrival.resolve()
        else if (processId !== connection.backendPid) onNotification(payload)
      })
      await answerOf(
        connection.query(sql`listen ${sql.id(notificationChannel)}`),
        'no answer to LISTEN',
        timer,
      )
      await database.one(sql`select pg_notify(${notificationChannel}, ${probe})`)
      await answerOf(arrival.promise, 'notifications do not arrive', timer)
    } catch (error) {
      connection.destroy()
      throw error
    }
    if (this.#isStopped) return await connection.close()
    if (!connection.isOpen) throw new ConnectionLost('the connection broke')
    this.#connection = connection
    connection.onClose(() => this.#lose())
    this.#retryMs = firstRetryMs
    if (this.#hasWarned) log.info('receiving notifications of the database again')
    this.#hasWarned = false
    onConnect()
  }

  #lose(): void {
    this.#connection = undefined
    if (this.#isStopped) return
    this.#options.onLoss()
    this.#retry(new ConnectionLost('the connection broke'))
  }

  #retry(error: unknown): void {
    if (this.#isStopped) return
    const { log, timer } = this.#options
    const isUndelivered = error instanceof Unanswered
    const delayMs = isUndelivered ? undeliveredRetryMs : this.#retryMs
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs)
    if (!this.#hasWarned) {
      const message = `failed to listen for notifications of the database; polling, retrying in ${delayMs / 1000} s`
      log.warn({ reason: messageOf(error) }, message)
    }
    this.#hasWarned = true
    this.#cancelRetry = timer.after(delayMs, () => void this.start())
  }
}

class Unanswered extends Error {}

/** Returns the result of the work. @throws Unanswered when it takes too long */
async function answerOf<Value>(work: Promise<Value>, what: string, timer: Timer): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const cancel = whenLate(answerMs, () => late.reject(new Unanswered(what)), timer)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}
