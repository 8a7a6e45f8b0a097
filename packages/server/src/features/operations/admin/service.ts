import { randomBytes } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/request-origin.ts'
import type { AppError } from '../../../lib/errors.ts'
import { createToken, hashToken } from '../../../lib/tokens.ts'
import { type AuditEntry, recordAudit } from '../audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../throttle/index.ts'
import { adminErrors } from './errors.ts'
import * as queries from './queries.ts'

export const adminTokenPrefix = 'basalt_admin_'
const signInCodePrefix = 'basalt_signin_'

/** Twelve hours. */
const sessionSeconds = 12 * 60 * 60
/** Two hours without a request end a session in a cookie, which stays where a person has left it. */
export const idleLife = { idleSeconds: 2 * 60 * 60, moveSeconds: 60 } as const

/** Where the session is kept: by a program, or by a browser in a cookie. */
export type SessionKeeper = 'program' | 'browser'
const signInCodeSeconds = 60 * 60

/** Failures per address; a success clears them. */
const failedSignIns: AttemptLimit = { name: 'admin.sign_in', attempts: 10, windowSeconds: 15 * 60 }

/** How passwords are hashed; as those of users. */
export interface PasswordHashing {
  hash(password: string): Promise<string>
  verify(password: string, hash: string): Promise<boolean>
}

export interface AdminDeps {
  readonly database: SystemDatabase
  readonly passwords: PasswordHashing
  readonly throttle: Throttle
  /** Called once what the first start made has been used or replaced, and again at will. */
  readonly forgetFirstSignIn: () => void
}

export interface AdminSession {
  readonly token: string
  readonly expiresAt: Date
}

/** What is printed once, after the first start. */
export interface FirstSignIn {
  readonly password: string
  /** Code of a link that signs in without it. */
  readonly code: string
}

/** The password, or the code of a one-time link. */
export interface Credentials {
  readonly password?: string | undefined
  readonly code?: string | undefined
}

export interface AdminService {
  /**
   * Puts the configured password in force, or makes one when there is none yet.
   *
   * @returns what a person needs to sign in, when this call made it
   */
  ensurePassword(configured: string): Promise<FirstSignIn | undefined>
  hasPassword(): Promise<boolean>
  /** @throws AppError missing_credentials, invalid_password, invalid_sign_in_code, too_many_requests */
  signIn(credentials: Credentials, keeper: SessionKeeper, origin: RequestOrigin): Promise<AdminSession>
  /** When the session ends unless further requests come; undefined when it has ended. */
  findSessionEnd(sessionId: string): Promise<Date | undefined>
  /** Ends the session of a token that another one replaces. */
  endReplaced(token: string): Promise<void>
  signOut(sessionId: string, origin: RequestOrigin): Promise<void>
  /** A new password; every session and link of the old one ends. */
  resetPassword(actor: string): Promise<string>
  /** A session without a password, for operators who already have access to the database. */
  createSession(actor: string): Promise<AdminSession>
}

export function createAdminService({
  database,
  passwords,
  throttle,
  forgetFirstSignIn,
}: AdminDeps): AdminService {
  async function requireAttempts(address: string, transaction?: Queryable): Promise<void> {
    requireAllowed(await throttle.check(failedSignIns, address, transaction))
  }

  /** Counts the failure; those too many look the same whether the password was right or wrong. */
  async function failSignIn(address: string, error: AppError): Promise<never> {
    requireAllowed(await throttle.attempt(failedSignIns, address))
    throw error
  }

  async function startSession(
    transaction: Queryable,
    keeper: SessionKeeper,
    entry: AuditEntry,
  ): Promise<AdminSession> {
    const token = createToken(adminTokenPrefix)
    const idleSeconds = keeper === 'browser' ? idleLife.idleSeconds : undefined
    const life = { seconds: sessionSeconds, idleSeconds }
    const { expires_at } = await queries.insertSession(transaction, hashToken(token), life)
    await recordAudit(transaction, entry)
    return { token, expiresAt: expires_at }
  }

  async function signInByPassword(
    password: string,
    keeper: SessionKeeper,
    origin: RequestOrigin,
  ): Promise<AdminSession> {
    const hash = await queries.findPasswordHash(database)
    if (hash === undefined || !(await passwords.verify(password, hash))) {
      return await failSignIn(origin.address, adminErrors.invalidPassword())
    }
    return await database.transaction(async (transaction) => {
      if (!(await queries.holdPasswordHash(transaction, hash))) throw adminErrors.invalidPassword()
      await requireAttempts(origin.address, transaction)
      return await startSession(transaction, keeper, { actor: 'admin', action: 'admin.sign_in', origin })
    })
  }

  async function signInByCode(
    code: string,
    keeper: SessionKeeper,
    origin: RequestOrigin,
  ): Promise<AdminSession> {
    const session = await database.transaction(async (transaction) => {
      if (!(await queries.consumeSignInCode(transaction, hashToken(code)))) return undefined
      await requireAttempts(origin.address, transaction)
      const entry = { actor: 'admin', action: 'admin.sign_in_by_link', origin }
      return await startSession(transaction, keeper, entry)
    })
    return session ?? (await failSignIn(origin.address, adminErrors.invalidSignInCode()))
  }

  async function replacePassword(password: string, actor: string): Promise<void> {
    const hash = await passwords.hash(password)
    await database.transaction(async (transaction) => {
      await queries.upsertPassword(transaction, hash)
      const sessions = await queries.deleteAllSessions(transaction)
      await queries.deleteAllSignInCodes(transaction)
      await recordAudit(transaction, {
        actor,
        action: 'admin.reset_password',
        detail: { endedSessions: sessions },
      })
    })
    forgetFirstSignIn()
  }

  return {
    async ensurePassword(configured) {
      const stored = await queries.findPasswordHash(database)
      if (configured !== '') {
        const isCurrent = stored !== undefined && (await passwords.verify(configured, stored))
        if (!isCurrent) await replacePassword(configured, 'configuration')
        return undefined
      }
      if (stored !== undefined) {
        // Signed in on another node, perhaps.
        if (await queries.wasFirstSignInUsed(database)) forgetFirstSignIn()
        return undefined
      }
      const password = createPassword()
      const code = createToken(signInCodePrefix)
      const hash = await passwords.hash(password)
      return await database.transaction(async (transaction) => {
        if (!(await queries.insertPassword(transaction, hash))) return undefined
        await queries.insertSignInCode(transaction, hashToken(code), signInCodeSeconds)
        await recordAudit(transaction, { actor: 'first start', action: 'admin.create_password' })
        return { password, code }
      })
    },

    async hasPassword() {
      return (await queries.findPasswordHash(database)) !== undefined
    },

    async signIn({ password, code }, keeper, origin) {
      if ((password ?? code) === undefined) throw adminErrors.missingCredentials()
      await requireAttempts(origin.address)
      const session =
        password === undefined
          ? await signInByCode(code ?? '', keeper, origin)
          : await signInByPassword(password, keeper, origin)
      forgetFirstSignIn()
      await throttle.reset(failedSignIns, origin.address)
      return session
    },

    findSessionEnd: (sessionId) => queries.findSessionEnd(database, sessionId),

    endReplaced: (token) => queries.deleteSessionOf(database, hashToken(token)),

    signOut: (sessionId, origin) =>
      database.transaction(async (transaction) => {
        await queries.deleteSession(transaction, sessionId)
        await recordAudit(transaction, { actor: 'admin', action: 'admin.sign_out', origin })
      }),

    async resetPassword(actor) {
      const password = createPassword()
      await replacePassword(password, actor)
      return password
    },

    createSession: (actor) =>
      database.transaction((transaction) =>
        startSession(transaction, 'program', { actor, action: 'admin.create_token' }),
      ),
  }
}

/** 120 random bits in a form that can be read out. */
function createPassword(): string {
  return (randomBytes(15).toString('hex').match(/.{5}/g) ?? []).join('-')
}
