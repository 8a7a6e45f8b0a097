import { hkdfSync, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { codeOf } from '../../lib/errors.ts'
import { Connection, type ConnectionTarget } from '../connection/connection.ts'
import { scramVerifier } from '../embedded/tcp-access.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'

/**
 * The password of a role of ours, the same on every node: made of the secret that they share. Without one each process has
 * its own, and sets it when another has set another.
 */
export function loginPassword(secret: string, role: string): string {
  const key = secret === '' ? randomBytes(32) : secret
  return Buffer.from(hkdfSync('sha256', key, '', `basalt login of ${role}`, 24)).toString('base64url')
}

/** The server does not let the role in. */
export class LoginRefused extends ConnectionLost {}

/** Attempts after another server of the cluster, with another secret, has set its own password. */
const attempts = 6
const retryMs = 20

/** Opens sessions of a role of ours. */
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
   * Stands for the password in a statement (PostgreSQL, CREATE ROLE) and in the list of a pooler, which has to stay right: the same
   * salt for the same password, which is random.
   */
  get verifier(): string {
    const salt = hkdfSync('sha256', this.#password, '', `basalt salt of ${this.role}`, 16)
    return scramVerifier(this.#password, Buffer.from(salt))
  }

  /** Returns whether the password has been set by this process. */
  get isSet(): boolean {
    return this.#isSet
  }

  /** @throws LoginRefused, ConnectionLost */
  async open(target = this.#target): Promise<Connection> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await Connection.open({ ...target, login: { user: this.role, password: this.#password } })
      } catch (error) {
        const cause = refusalOf(error)
        if (cause === undefined) throw error
        const refused = new LoginRefused(`${this.role} cannot log in`, { cause })
        // A pooler refuses by its own list of users, which may be that of PostgreSQL.
        const mostAttempts = codeOf(cause) === '28P01' ? attempts : codeOf(cause) === '08P01' ? 2 : 1
        if (attempt >= mostAttempts) throw refused
        if (!(await this.#setPassword())) throw refused
        // Two servers that set their own by turns must not go on in step.
        if (attempt > 1) await delay(Math.random() * retryMs * attempt)
      }
    }
  }

  /** Once for all that wait. @returns false where the login role may not */
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
      // Another node sets it at the same time ("tuple concurrently updated"): the login is tried again.
      if (codeOf(error) === 'XX000') return true
      if (error instanceof pg.DatabaseError) return false
      throw error
    } finally {
      await owner.close()
    }
  }
}

/** Why a role is not let in, by PostgreSQL or by a pooler, which knows its own users; undefined for any other failure. */
function refusalOf(error: unknown): Error | undefined {
  if (!(error instanceof ConnectionLost) || !(error.cause instanceof pg.DatabaseError)) return undefined
  const code = error.cause.code ?? ''
  return code.startsWith('28') || code === '08P01' || code === '42501' ? error.cause : undefined
}
