import { randomInt } from 'node:crypto'
import { sql } from '../../../database/sql.ts'
import type { PendingIdentity, UserIdentity } from '../../../http/access/identity.ts'
import {
  type AuthenticationResponse,
  type Client,
  hashCode,
  lockSelf,
  requireText,
} from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { passSecondFactor } from './second-factor.ts'

/** Ten codes of the form xxxxx-xxxxx, each good once. No letters that look alike. */
const codes = 10
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const half = 5

/** New codes; those of before are void. Shown once. */
export async function generateBackupCodes(
  { accounts }: MfaContext,
  identity: UserIdentity,
): Promise<string[]> {
  const { database, keys } = accounts
  const { userId } = identity
  const made = Array.from({ length: codes }, createBackupCode)
  const hashes = made.map((code) => hashCode(keys, 'backup', userId, normalize(code)))
  await database.transaction(async (transaction) => {
    // One replacement at a time: two at once must not leave twenty codes.
    await lockSelf(transaction, identity)
    await transaction.count(sql`delete from basalt.mfa_backup_codes where user_id = ${userId}`)
    await transaction.count(sql`
      insert into basalt.mfa_backup_codes (user_id, code_hash)
      select ${userId}::uuid, hash from unnest(${hashes}::bytea[]) as hash`)
  })
  return made
}

export async function countBackupCodes({ accounts }: MfaContext, userId: string): Promise<number> {
  const { remaining } = await accounts.database.one<{ remaining: number }>(sql`
    select count(*)::int as remaining from basalt.mfa_backup_codes where user_id = ${userId} and used_at is null`)
  return remaining
}

/** @throws AppError field_required, invalid_backup_code, too_many_mfa_failures */
export async function verifyBackupCode(
  context: MfaContext,
  pending: PendingIdentity,
  given: string | undefined,
  client: Client,
): Promise<AuthenticationResponse> {
  const code = normalize(requireText(given, 'code'))
  const codeHash = hashCode(context.accounts.keys, 'backup', pending.userId, code)
  return await passSecondFactor(context, pending, 'backup_code', client, async (transaction) => {
    const used = await transaction.count(sql`
      update basalt.mfa_backup_codes set used_at = now()
      where user_id = ${pending.userId} and code_hash = ${codeHash} and used_at is null`)
    if (used === 0) throw mfaErrors.invalidBackupCode()
  })
}

function createBackupCode(): string {
  const letters = Array.from({ length: 2 * half }, () => alphabet.charAt(randomInt(alphabet.length))).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

/** However it was typed. */
function normalize(code: string): string {
  return code.trim().toLowerCase().replace(/[\s-]/g, '')
}
