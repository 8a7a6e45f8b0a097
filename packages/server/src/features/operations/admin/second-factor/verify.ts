import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { AppError, messageOf } from '../../../../lib/errors.ts'
import type { SecretBox } from '../../../../lib/secret-box.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { findTimeStep, normalizeBackupCode } from '../../one-time-codes/index.ts'
import { type AttemptLimit, requireAllowed } from '../../throttle/index.ts'
import {
  type Assertion,
  type AssertionInput,
  parseAssertion,
  type RelyingParty,
  relyingPartyOf,
  userHandleOf,
  verifyAssertion,
} from '../../webauthn/index.ts'
import type { AdminContext } from '../context.ts'
import { adminErrors } from '../errors.ts'
import {
  consumeBackupCode,
  consumeStep,
  findTotp,
  listBackupCodes,
  resealTotp,
  type StoredTotp,
} from './factors.ts'
import { consumeChallenge, findPasskey, recordPasskeyUse, type StoredPasskey } from './passkeys.ts'

/** Proof of a second factor: a code of an app, a backup code, or a passkey. */
export interface Proof extends AssertionInput {
  readonly code?: string | undefined
}

export type FactorMethod = 'totp' | 'backup_code' | 'webauthn'

/** Limit of wrong codes, from all addresses. Fifteen within an hour lock the codes of an administrator, but no passkey. */
const wrongCodes: AttemptLimit = {
  name: 'admin.second_factor',
  attempts: 15,
  windowSeconds: 3600,
  lockSeconds: 1800,
}

/** Errors of wrong codes, which count. */
const countedErrors = new Set(['invalid_second_factor_code', 'second_factor_code_used'])

/**
 * Verifies a proof of a second factor. A code is counted and committed before it is checked, so that concurrent
 * attempts cannot exceed the limit. A success clears the count.
 *
 * @param use work in the transaction that consumes the factor
 * @throws AppError missing_credentials, invalid_second_factor_code, second_factor_code_used, passkey_refused, too_many_requests
 */
export async function proveFactor<Result>(
  context: AdminContext,
  administratorId: string,
  proof: Proof,
  use: (transaction: Queryable, method: FactorMethod) => Promise<Result>,
): Promise<Result> {
  const { database, throttle } = context
  const { code } = proof
  if (code === undefined) {
    return await database.transaction(async (transaction) => {
      await lockEnabled(transaction, administratorId)
      await usePasskey(context, transaction, proof, administratorId)
      return await use(transaction, 'webauthn')
    })
  }
  requireAllowed(await throttle.attempt(wrongCodes, administratorId))
  try {
    const result = await database.transaction(async (transaction) => {
      await lockEnabled(transaction, administratorId)
      return await use(transaction, await useCode(context, transaction, administratorId, code))
    })
    await throttle.reset(wrongCodes, administratorId)
    return result
  } catch (error) {
    const isCounted = error instanceof AppError && countedErrors.has(error.kind)
    if (!isCounted) await throttle.release(wrongCodes, administratorId)
    throw error
  }
}

/** Locks an enabled administrator until the transaction ends. @throws AppError no_pending_admin_sign_in */
async function lockEnabled(transaction: Queryable, administratorId: string): Promise<void> {
  const locked = await transaction.count(sql`
    select from basalt.administrators where id = ${administratorId} and disabled_at is null for update`)
  if (locked === 0) throw adminErrors.noPendingAdminSignIn()
}

async function useCode(
  { secrets }: AdminContext,
  transaction: Queryable,
  administratorId: string,
  code: string,
): Promise<FactorMethod> {
  if (/^[\d\s-]+$/.test(code)) {
    const totp = await findTotp(transaction, administratorId)
    if (totp?.confirmed_at == null) throw adminErrors.invalidSecondFactorCode()
    await useTotp(secrets(), transaction, totp, code)
    return 'totp'
  }
  const given = normalizeBackupCode(code)
  const stored = await listBackupCodes(transaction, administratorId)
  const found = stored.find(
    (each) => secrets().open(each.code, backupContext(administratorId))?.toString() === given,
  )
  if (found === undefined || !(await consumeBackupCode(transaction, found.id))) {
    throw adminErrors.invalidSecondFactorCode()
  }
  return 'backup_code'
}

export const totpContext = (administratorId: string) => `administrator totp ${administratorId}`
export const backupContext = (administratorId: string) => `administrator backup code ${administratorId}`

/** Consumes the time step of a code. @throws AppError invalid_second_factor_code, second_factor_code_used */
export async function useTotp(
  secrets: SecretBox,
  transaction: Queryable,
  totp: StoredTotp,
  code: string,
): Promise<void> {
  const id = totp.administrator_id
  const secret = secrets.open(totp.secret, totpContext(id))
  if (secret === undefined) {
    throw httpErrors
      .internalError()
      .with({ detail: `the TOTP secret of administrator ${id} cannot be decrypted` })
  }
  // The database clock is the same for every node.
  const { now } = await transaction.one<{ now: string }>(
    sql`select floor(extract(epoch from now()) * 1000)::text as now`,
  )
  const step = findTimeStep(secret, code, Number(now))
  if (step === undefined) throw adminErrors.invalidSecondFactorCode()
  if (!(await consumeStep(transaction, id, step))) throw adminErrors.secondFactorCodeUsed()
  if (secrets.isOutdated(totp.secret)) {
    await resealTotp(transaction, totp, secrets.seal(secret, totpContext(id)))
  }
}

/** Returns the relying party of the dashboard. @throws AppError admin_passkeys_need_domain */
export function requireParty({ dashboardUrl, publicBaseUrl }: AdminContext): RelyingParty {
  const url = dashboardUrl() ?? publicBaseUrl()
  const party = relyingPartyOf(url)
  if (party === undefined) throw adminErrors.adminPasskeysNeedDomain(new URL(url).hostname)
  return party
}

/**
 * Verifies an assertion, and consumes its challenge and counter (WebAuthn L3 §7.2).
 *
 * @param administratorId owner of the passkey; null if the passkey names its owner and signs in by itself
 * @throws AppError missing_credentials, passkey_refused
 */
export async function usePasskey(
  context: AdminContext,
  transaction: Queryable,
  { challenge_id, assertion_response }: AssertionInput,
  administratorId: string | null,
): Promise<StoredPasskey> {
  if (challenge_id === undefined || assertion_response == null) {
    const isAlone = administratorId === null
    throw adminErrors.missingCredentials(
      isAlone
        ? 'challenge_id and assertion_response are'
        : 'code, or challenge_id with assertion_response, is',
    )
  }
  const party = requireParty(context)
  const assertion = parseAssertion(assertion_response)
  if (assertion === undefined || !isUuid(challenge_id)) throw adminErrors.passkeyRefused()
  const refuse = (reason: string) => {
    const { credentialId } = assertion
    context.log.info({ credentialId, reason: reason.slice(0, 500) }, 'passkey of an administrator refused')
    return adminErrors.passkeyRefused()
  }
  const passkey = await findPasskey(transaction, assertion.credentialId)
  const isAlone = administratorId === null
  const purpose = isAlone ? 'sign_in' : 'verify'
  // Every use case locks the administrator first. Another order would deadlock.
  if (isAlone && passkey !== undefined) await lockEnabled(transaction, passkey.administrator_id)
  const challenge = await consumeChallenge(transaction, purpose, administratorId, challenge_id)
  if (challenge === undefined) throw refuse('the challenge is unknown, used or expired')
  if (passkey === undefined) throw refuse('the passkey is unknown')
  try {
    const use = await verifyAssertion(assertion, {
      challenge,
      party,
      publicKey: passkey.public_key,
      isBackupEligible: passkey.is_backup_eligible,
      // Alone, a passkey must count as two factors. After a password, possession is enough.
      isUserVerificationRequired: isAlone,
    })
    requireOwner(passkey, assertion, administratorId)
    if (!(await recordPasskeyUse(transaction, passkey.id, use))) throw new Error('the counter did not grow')
  } catch (error) {
    throw refuse(messageOf(error))
  }
  return passkey
}

/** Rejects a passkey of another administrator (WebAuthn L3 §7.2, step 6). @throws Error for the log */
function requireOwner(
  { administrator_id, is_user_verified }: StoredPasskey,
  { userHandle }: Assertion,
  administratorId: string | null,
): void {
  const isAlone = administratorId === null
  if (!isAlone && administrator_id !== administratorId) throw new Error('the passkey has another owner')
  if (userHandle === undefined && isAlone) throw new Error('the passkey names no administrator')
  if (userHandle !== undefined && userHandle !== userHandleOf(administrator_id)) {
    throw new Error('the passkey names another administrator')
  }
  // The holder of a key that never verified its user may have set a PIN (WebAuthn L3 §4, uvInitialized).
  if (isAlone && !is_user_verified) throw new Error('the passkey has never verified its holder')
}
