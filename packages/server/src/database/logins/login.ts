import { hkdfSync, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { codeOf } from '../../lib/errors.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'
import { scramVerifier } from '../embedded/tcp-access.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'

/**
 * Derives the password of one of our roles from the secret that all nodes share. Without a secret each process
 * has its own password, and sets it when another process has set another.
 */
export function loginPassword(secret: string, role: string): string {
  const key = secret === '' ? randomBytes(32) : secret
  return Buffer.from(hkdfSync('sha256', key, '', `basalt login of ${role}`, 24)).toString('base64url')
}

/** Thrown when the server rejects the role's login. */
export class LoginRefused extends ConnectionLost {}

/** Number of attempts after another server of the cluster, with another secret, has set its own password. */
const attempts = 6
const retryMs = 20

/** Login of one of our roles. */
export class Login {
  readonly role: string
  readonly #target: ConnectionTarget
  readonly #password: string
  readonly #openOwner: () => Promise<Connection>
  #setting: Promise<boolean> | undefined
  #isSet = false

  /** @param openOwner opens a connection of the login role that may set passwords */
  constructor(
    role: string,
    target: ConnectionTarget,
    { password, openOwner }: { readonly password: string; readonly openOwner: () => Promise<Connection> },
  ) {
    this.role = role
    this.#target = target
    this.#password = password
    this.#openOwner = openOwner
  }

  /**
   * Verifier that replaces the password in a statement (PostgreSQL, CREATE ROLE) and in the list of a pooler.
   * It must stay valid, so the salt is the same for the same password, which is random.
   */
  get verifier(): string {
    const salt = hkdfSync('sha256', this.#password, '', `basalt salt of ${this.role}`, 16)
    return scramVerifier(this.#password, Buffer.from(salt))
  }

  /** True if this process has set the password. */
  get isSet(): boolean {
    return this.#isSet
  }

  /** Opens a session. @throws LoginRefused, ConnectionLost */
  async open(target = this.#target): Promise<Connection> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await Connection.open({ ...target, login: { user: this.role, password: this.#password } })
      } catch (error) {
        const cause = refusalOf(error)
        if (cause === undefined) throw error
        const refused = new LoginRefused(`${this.role} cannot log in`, { cause })
        // A pooler rejects by its own list of users, which may be that of PostgreSQL.
        const mostAttempts = codeOf(cause) === '28P01' ? attempts : codeOf(cause) === '08P01' ? 2 : 1
        if (attempt >= mostAttempts) throw refused
        if (!(await this.#setPassword())) throw refused
        // Two servers that alternately set their own password must not stay in step.
        if (attempt > 1) await delay(Math.random() * retryMs * attempt)
      }
    }
  }

  /** Sets the password once for all waiting logins. @returns false where the login role may not */
  #setPassword(): Promise<boolean> {
    this.#setting ??= this.#alterRole().finally(() => {
      this.#setting = undefined
    })
    return this.#setting
  }

  async #alterRole(): Promise<boolean> {
    const owner = await this.#openOwner()
    try {
      await owner.query(sql`alter role ${sql.id(this.role)} password ${sql.literal(this.verifier)}`)
      this.#isSet = true
      return true
    } catch (error) {
      // Another node sets it at the same time ("tuple concurrently updated"), so the login is tried again.
      if (codeOf(error) === 'XX000') return true
      if (error instanceof pg.DatabaseError) return false
      throw error
    } finally {
      await owner.close()
    }
  }
}

/**
 * Returns the error of a rejected login, by PostgreSQL or by a pooler with its own users; undefined for any
 * other failure.
 */
function refusalOf(error: unknown): Error | undefined {
  if (!(error instanceof ConnectionLost) || !(error.cause instanceof pg.DatabaseError)) return undefined
  const code = error.cause.code ?? ''
  return code.startsWith('28') || code === '08P01' || code === '42501' ? error.cause : undefined
}
