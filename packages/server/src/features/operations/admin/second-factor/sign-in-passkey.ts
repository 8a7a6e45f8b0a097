import { ok, operation } from '../../../../http/operation.ts'
import { hashToken } from '../../../../lib/tokens.ts'
import { Type } from '../../../../lib/type.ts'
import { type AttemptLimit, requireAllowed } from '../../throttle/index.ts'
import { PasskeyRequestOptions } from '../../webauthn/index.ts'
import type { AdminContext } from '../context.ts'
import { adminErrors } from '../errors.ts'
import { requirePasswordSignIn } from '../sign-in.ts'
import { findPendingSignIn } from './factors.ts'
import { requestPasskey } from './operations.ts'

/** Limit of requested challenges per network address, because each leaves a row for five minutes. */
const challenges: AttemptLimit = { name: 'admin.passkey_challenges', attempts: 1000, windowSeconds: 15 * 60 }

/** Requests a passkey for a sign-in. */
export const requestSignInPasskey = operation({
  id: 'administrators.requestPasskey',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth/passkey',
  tag: 'administrators',
  summary: 'Request a passkey to sign in as administrator',
  description:
    'With `mfa_token`, it is the second factor of that sign-in. Otherwise any passkey of an administrator signs in by itself.',
  body: Type.Object({ mfa_token: Type.Optional(Type.String({ maxLength: 200 })) }),
  success: ok(PasskeyRequestOptions),
  async handle(context: AdminContext, { body: { mfa_token }, origin }, reply) {
    requireAllowed(await context.throttle.attempt(challenges, origin.address))
    void reply.header('cache-control', 'no-store')
    if (mfa_token === undefined) requirePasswordSignIn(context)
    if (mfa_token === undefined) return await requestPasskey(context, null)
    const id = await findPendingSignIn(context.database, hashToken(mfa_token))
    if (id === undefined) throw adminErrors.noPendingAdminSignIn()
    return await requestPasskey(context, id)
  },
})
