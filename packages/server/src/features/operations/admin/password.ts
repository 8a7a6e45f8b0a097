import { randomBytes } from 'node:crypto'
import { recordAudit } from '../audit/index.ts'
import { createSignInCode } from './administrators/invitation.ts'
import type { AdminDeps } from './context.ts'
import * as queries from './queries.ts'

/** Credentials that are printed once, after the first start. */
export interface FirstSignIn {
  /** Undefined while `admin.password_sign_in` is off. */
  readonly password: string | undefined
  /** Code of a link that signs in without the password. */
  readonly code: string
}

/**
 * Applies the configured password, or generates one when there is none yet.
 *
 * @returns the credentials of the first sign-in, when this call made them
 */
export async function ensurePassword(deps: AdminDeps, configured: string): Promise<FirstSignIn | undefined> {
  const { database, passwords, forgetFirstSignIn } = deps
  const stored = await queries.findFirstHash(database)
  if (configured !== '') {
    const isCurrent = stored !== undefined && (await passwords.verify(configured, stored))
    if (!isCurrent) await replacePassword(deps, configured, 'configuration')
    return undefined
  }
  if (stored === undefined) return await createFirstSignIn(deps)
  // The first sign-in may have happened on another node.
  if (await queries.wasFirstSignInUsed(database)) forgetFirstSignIn()
  return undefined
}

/** Creates the first password. Returns undefined when another node was first. */
async function createFirstSignIn({
  database,
  passwords,
  methods,
}: AdminDeps): Promise<FirstSignIn | undefined> {
  const password = createPassword()
  const hash = await passwords.hash(password)
  return await database.transaction(async (transaction) => {
    const first = await queries.insertFirst(transaction, hash)
    if (first === undefined) return undefined
    const code = await createSignInCode(transaction, first.id)
    await recordAudit(transaction, { actor: 'first start', action: 'admin.create_password' })
    return { password: methods.password ? password : undefined, code }
  })
}

/**
 * Replaces the password of the first administrator by a new one. Every session and link of the old one
 * ends.
 *
 * @returns undefined if the first administrator was removed
 */
export async function resetPassword(deps: AdminDeps, actor: string): Promise<string | undefined> {
  const password = createPassword()
  return (await replacePassword(deps, password, actor)) ? password : undefined
}

async function replacePassword(deps: AdminDeps, password: string, actor: string): Promise<boolean> {
  const hash = await deps.passwords.hash(password)
  const isReplaced = await deps.database.transaction(async (transaction) => {
    if (!(await queries.setFirstPassword(transaction, hash))) return false
    const endedSessions = await queries.deleteSessionsOfFirst(transaction)
    await queries.deleteCodesOfFirst(transaction)
    await recordAudit(transaction, { actor, action: 'admin.reset_password', detail: { endedSessions } })
    return true
  })
  deps.forgetFirstSignIn()
  return isReplaced
}

/** Creates a password of 120 random bits in a form that can be read aloud. */
function createPassword(): string {
  return (randomBytes(15).toString('hex').match(/.{5}/g) ?? []).join('-')
}
