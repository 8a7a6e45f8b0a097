import { sql } from '../../../database/sql.ts'
import { pendingOf, userOf } from '../../../http/access/authentication.ts'
import type { PendingIdentity } from '../../../http/access/identity.ts'
import { ok, operation } from '../../../http/operation.ts'
import { Type } from '../../../lib/type.ts'
import { createBackupCodes, normalizeBackupCode } from '../../operations/one-time-codes/index.ts'
import {
  type AuthenticationResponse,
  authenticationSchema,
  type Client,
  clientOf,
  hashCode,
  lockSelf,
  requireText,
} from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { code, ofPendingSignIn } from './requests.ts'
import { passSecondFactor } from './second-factor.ts'

const generate = generation('generate')
const regenerate = generation('regenerate')

/** Describes both names of one endpoint, which voids the previous codes. */
function generation(name: 'generate' | 'regenerate') {
  return operation({
    id: `mfa.${name}BackupCodes`,
    method: 'POST',
    path: `/api/auth/mfa/backup/${name}`,
    guard: 'aal2',
    tag: 'mfa',
    summary: 'Replace the backup codes by ten new ones, shown once',
    success: ok(Type.Object({ codes: Type.Array(Type.String()) })),
    async handle({ accounts }: MfaContext, { http }) {
      const { database, keys } = accounts
      const identity = userOf(http)
      const { userId } = identity
      const made = createBackupCodes()
      const hashes = made.map((code) => hashCode(keys, 'backup', userId, normalizeBackupCode(code)))
      await database.transaction(async (transaction) => {
        // The lock allows one replacement at a time, so that two concurrent ones do not leave twenty codes.
        await lockSelf(transaction, identity)
        await transaction.count(sql`delete from basalt.mfa_backup_codes where user_id = ${userId}`)
        await transaction.count(sql`
          insert into basalt.mfa_backup_codes (user_id, code_hash)
          select ${userId}::uuid, hash from unnest(${hashes}::bytea[]) as hash`)
      })
      return { codes: made }
    },
  })
}

const count = operation({
  id: 'mfa.countBackupCodes',
  method: 'GET',
  path: '/api/auth/mfa/backup/count',
  guard: 'bearer',
  tag: 'mfa',
  summary: 'Count the unused backup codes',
  success: ok(Type.Object({ remaining: Type.Integer() })),
  async handle({ accounts }: MfaContext, { http }) {
    return await accounts.database.one<{ remaining: number }>(sql`
      select count(*)::int as remaining from basalt.mfa_backup_codes
      where user_id = ${userOf(http).userId} and used_at is null`)
  },
})

const verify = operation({
  ...ofPendingSignIn,
  id: 'mfa.verifyBackupCode',
  path: '/api/auth/mfa/backup/verify',
  summary: 'Complete the sign-in by a backup code',
  body: Type.Object({ code }),
  success: ok(authenticationSchema),
  handle: async (context: MfaContext, { body, http }) =>
    await verifyBackupCode(context, pendingOf(http), body.code, clientOf(http)),
})

export const backupCodeOperations = [generate, regenerate, count, verify]

/** Completes a pending sign-in by a backup code. @throws AppError field_required, invalid_backup_code, too_many_mfa_failures */
export async function verifyBackupCode(
  context: MfaContext,
  pending: PendingIdentity,
  text: string | undefined,
  client: Client,
): Promise<AuthenticationResponse> {
  const code = normalizeBackupCode(requireText(text, 'code'))
  const codeHash = hashCode(context.accounts.keys, 'backup', pending.userId, code)
  return await passSecondFactor(context, pending, 'backup_code', client, async (transaction) => {
    const used = await transaction.count(sql`
      update basalt.mfa_backup_codes set used_at = now()
      where user_id = ${pending.userId} and code_hash = ${codeHash} and used_at is null`)
    if (used === 0) throw mfaErrors.invalidBackupCode()
  })
}
