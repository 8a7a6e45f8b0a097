import { messageOf, OperatorError } from '../lib/errors.ts'
import type { Connection, ConnectionTarget } from './connection/connection.ts'
import { ensureDeveloper, ensureReader, statementsFor } from './logins/ensure-logins.ts'
import { grantToDeveloper, grantToReader } from './logins/grants.ts'
import { type Login, LoginRefused } from './logins/login.ts'
import { developerRole, readerRole } from './logins/roles.ts'
import { sql } from './sql.ts'
import type { SystemDatabase } from './system-database.ts'

/** Thrown when no session of the role is possible; the message names the remedy. */
export class SqlLoginUnavailable extends Error {}

/** Steps that create a role and make its missing grants. */
const preparations = {
  [readerRole]: { ensure: ensureReader, grant: grantToReader },
  [developerRole]: { ensure: ensureDeveloper, grant: grantToDeveloper },
} as const

/**
 * Opener of sessions for SQL of administrators. They log in as a role of their own. The limits of the session's own user stay
 * in force, whatever `set role`, `reset role` or a function with dynamic SQL try (PostgreSQL, SET ROLE). No
 * other role replaces it.
 */
export class SqlLogin {
  readonly #database: SystemDatabase
  readonly #role: keyof typeof preparations
  readonly #login: Login
  readonly #target: ConnectionTarget | undefined

  /** @param target leads to PostgreSQL itself; undefined where only a pooler is known */
  constructor(
    database: SystemDatabase,
    role: keyof typeof preparations,
    login: Login,
    target: ConnectionTarget | undefined,
  ) {
    this.#database = database
    this.#role = role
    this.#login = login
    this.#target = target
  }

  /** Opens a session. @throws SqlLoginUnavailable; ConnectionLost when the database is unavailable */
  async open(): Promise<Connection> {
    if (this.#target === undefined) {
      throw new SqlLoginUnavailable(
        'database.url leads to a pooler: set database.listen_url to a direct connection to PostgreSQL',
      )
    }
    if (!(await this.#prepare())) {
      throw new SqlLoginUnavailable(
        `have an administrator run: ${statementsFor(this.#role, this.#login.verifier)}`,
      )
    }
    const connection = await this.#logIn(this.#target)
    const { rows } = await connection.query<{ is_own: boolean }>(
      sql`select session_user = ${this.#role} as is_own`,
    )
    if (rows[0]?.is_own === true) return connection
    await connection.close()
    throw new SqlLoginUnavailable(`the database lets no client log in as ${this.#role}`)
  }

  async #prepare(): Promise<boolean> {
    try {
      return await this.#database.transaction(async (transaction) => {
        const { ensure, grant } = preparations[this.#role]
        if (!(await ensure(transaction))) return false
        await grant(transaction)
        return true
      })
    } catch (error) {
      if (error instanceof OperatorError) throw new SqlLoginUnavailable(error.message, { cause: error })
      throw error
    }
  }

  async #logIn(target: ConnectionTarget): Promise<Connection> {
    try {
      return await this.#login.open(target)
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error
      throw new SqlLoginUnavailable(
        `${this.#role} cannot log in (${messageOf(error.cause)}): let pg_hba.conf accept it by password, and have an ` +
          `administrator run: alter role ${this.#role} login password '${this.#login.verifier}';`,
        { cause: error },
      )
    }
  }
}
