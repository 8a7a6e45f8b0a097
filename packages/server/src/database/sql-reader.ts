import { messageOf, OperatorError } from '../lib/errors.ts'
import type { Connection, ConnectionTarget } from './connection/connection.ts'
import { ensureReader, statementsFor } from './logins/ensure-logins.ts'
import { grantToReader } from './logins/grants.ts'
import { type Login, LoginRefused } from './logins/login.ts'
import { readerRole } from './logins/roles.ts'
import { sql } from './sql.ts'
import type { SystemDatabase } from './system-database.ts'

/** Thrown when no read-only session is possible; the message names the remedy. */
export class ReaderUnavailable extends Error {}

/**
 * Opener of read-only sessions. They log in as a role of their own. The limits of the session's own user stay
 * in force, whatever `set role`, `reset role` or a function with dynamic SQL try (PostgreSQL, SET ROLE). No
 * other role replaces it.
 */
export class SqlReader {
  readonly #database: SystemDatabase
  readonly #login: Login
  readonly #target: ConnectionTarget | undefined

  /** @param target leads to PostgreSQL itself; undefined where only a pooler is known */
  constructor(database: SystemDatabase, login: Login, target: ConnectionTarget | undefined) {
    this.#database = database
    this.#login = login
    this.#target = target
  }

  /** Opens a session. @throws ReaderUnavailable; ConnectionLost when the database is unavailable */
  async open(): Promise<Connection> {
    if (this.#target === undefined) {
      throw new ReaderUnavailable(
        'database.url leads to a pooler: set database.listen_url to a direct connection to PostgreSQL',
      )
    }
    if (!(await this.#prepare())) {
      throw new ReaderUnavailable(
        `have an administrator run: ${statementsFor(readerRole, this.#login.verifier)}`,
      )
    }
    const connection = await this.#logIn(this.#target)
    const { rows } = await connection.query<{ is_own: boolean }>(
      sql`select session_user = ${readerRole} as is_own`,
    )
    if (rows[0]?.is_own === true) return connection
    await connection.close()
    throw new ReaderUnavailable(`the database lets nobody log in as ${readerRole}`)
  }

  async #prepare(): Promise<boolean> {
    try {
      return await this.#database.transaction(async (transaction) => {
        if (!(await ensureReader(transaction))) return false
        await grantToReader(transaction)
        return true
      })
    } catch (error) {
      if (error instanceof OperatorError) throw new ReaderUnavailable(error.message, { cause: error })
      throw error
    }
  }

  async #logIn(target: ConnectionTarget): Promise<Connection> {
    try {
      return await this.#login.open(target)
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error
      throw new ReaderUnavailable(
        `${readerRole} cannot log in (${messageOf(error.cause)}): let pg_hba.conf accept it by password, and have an ` +
          `administrator run: alter role ${readerRole} login password '${this.#login.verifier}';`,
        { cause: error },
      )
    }
  }
}
