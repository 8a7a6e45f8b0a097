import { randomBytes } from 'node:crypto'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { lacksStepUp } from '../../../../http/access/grants.ts'
import type { AdminIdentity } from '../../../../http/access/identity.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../../http/operation.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { component, nullable, refusedWith, timestamp, uuid } from '../../../../http/schemas.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAdminAction } from '../../audit/index.ts'
import {
  createBackupCodes,
  describeTotp,
  normalizeBackupCode,
  totpSecretBytes,
} from '../../one-time-codes/index.ts'
import {
  assertionResponse,
  attestationResponse,
  createChallenge,
  creationOptions,
  displayName,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  parseAttestation,
  readDisplayName,
  requestOptions,
  type VerifiedPasskey,
  verifyAttestation,
} from '../../webauthn/index.ts'
import { lockAdministrator } from '../administrators/administrator.ts'
import type { AdminContext } from '../context.ts'
import { adminErrors } from '../errors.ts'
import { isFresh } from '../queries.ts'
import {
  beginTotp,
  confirmTotp,
  deleteTotp,
  findTotp,
  hasSecondFactor,
  listBackupCodes,
  removeAllFactors,
  removeOrphanedBackupCodes,
  replaceBackupCodes,
} from './factors.ts'
import { mailRemovedFactor } from './notice.ts'
import {
  consumeEnrollment,
  deletePasskey,
  insertChallenge,
  insertPasskey,
  listPasskeys,
  type StoredPasskey,
} from './passkeys.ts'
import { backupContext, proveFactor, requireParty, totpContext, useTotp } from './verify.ts'

/** Maximum number of passkeys of an administrator. Each of them is part of every challenge. */
const mostPasskeys = 50

/** Members of a body that carry the assertion of a passkey. */
export const passkeyMembers = {
  challenge_id: Type.Optional(Type.String({ maxLength: 64 })),
  assertion_response: Type.Optional(assertionResponse),
}

const code = Type.String({ maxLength: 100, description: 'Code of the authenticator app.' })
const anyCode = Type.String({
  maxLength: 100,
  description: 'Code of the authenticator app, or a backup code.',
})

const AdministratorPasskey = component(
  'AdministratorPasskey',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    displayName: Type.String(),
    createdAt: timestamp,
    lastUsedAt: nullable(timestamp),
  }),
)

const AdministratorFactors = component(
  'AdministratorFactors',
  Type.Object({
    totp: nullable(Type.Object({ confirmedAt: timestamp }), {
      description: 'null without an authenticator app.',
    }),
    passkeys: Type.Array(AdministratorPasskey),
    backupCodes: Type.Integer({ description: 'Number of unused backup codes.' }),
  }),
)

const backupCodes = Type.Array(Type.String(), {
  description:
    'Codes that each replace a factor once. They are shown only once. Empty unless this is the first factor.',
})

const common = {
  guard: 'admin',
  permission: 'account',
  tag: 'administrators',
  admitsUnenrolled: true,
} as const
const path = '/api/admin/account/factors'
const passkeysPath = '/api/admin/account/passkeys'

const list = operation({
  ...common,
  id: 'administrators.listFactors',
  method: 'GET',
  path,
  summary: 'List the second factors of this administrator',
  success: ok(AdministratorFactors),
  async handle({ database }: AdminContext, { http }) {
    const id = requireAccount(adminOf(http))
    const totp = await findTotp(database, id)
    const passkeys = await listPasskeys(database, id)
    const codes = await listBackupCodes(database, id)
    return {
      totp: totp?.confirmed_at == null ? null : { confirmedAt: totp.confirmed_at },
      passkeys: passkeys.map(describePasskey),
      backupCodes: codes.length,
    }
  },
})

const enrollTotp = operation({
  ...common,
  id: 'administrators.enrollTotp',
  stepUp: 'always',
  method: 'POST',
  path: `${path}/totp`,
  summary: 'Start to enrol an authenticator app',
  success: ok(
    Type.Object({
      uri: Type.String({ description: 'URI for a QR code.' }),
      secret: Type.String({ description: 'Secret in base32. It is shown only once.' }),
    }),
  ),
  async handle(context: AdminContext, { http }, reply) {
    const { secrets, appName, database } = context
    const secret = randomBytes(totpSecretBytes)
    const label = await database.transaction(async (transaction) => {
      const { id, email } = await lockEnroller(transaction, adminOf(http))
      if (!(await beginTotp(transaction, id, secrets().seal(secret, totpContext(id))))) {
        throw adminErrors.administratorTotpEnrolled()
      }
      return email ?? 'administrator'
    })
    void reply.header('cache-control', 'no-store')
    return describeTotp(secret, { issuer: appName, label })
  },
})

const confirmApp = operation({
  ...common,
  id: 'administrators.confirmTotp',
  stepUp: 'always',
  method: 'POST',
  path: `${path}/totp/confirm`,
  summary: 'Confirm the authenticator app by a code',
  description: 'The first factor ends other sign-ins of the administrator, and returns backup codes.',
  body: Type.Object({ code }),
  success: ok(Type.Object({ backupCodes })),
  async handle(context: AdminContext, { body, http, origin }, reply) {
    const identity = adminOf(http)
    const { database, secrets, tokens } = context
    const codes = await database.transaction(async (transaction) => {
      const { id, isFirstFactor } = await lockEnroller(transaction, identity)
      const totp = await findTotp(transaction, id)
      if (totp === undefined || totp.confirmed_at !== null) throw adminErrors.noAdministratorTotp()
      await useTotp(secrets(), transaction, totp, body.code)
      if (!(await confirmTotp(transaction, totp))) throw adminErrors.noAdministratorTotp()
      await recordAdminAction(transaction, 'administrators.enroll_factor', id, origin, { method: 'totp' })
      return await finishEnrollment(context, transaction, identity, id, isFirstFactor)
    })
    tokens.invalidateAll()
    void reply.header('cache-control', 'no-store')
    return { backupCodes: codes }
  },
})

const removeTotp = operation({
  ...common,
  id: 'administrators.removeTotp',
  stepUp: 'always',
  method: 'DELETE',
  path: `${path}/totp`,
  summary: 'Remove the authenticator app',
  description: 'Owners are notified by mail.',
  success: noContent,
  handle: async (context: AdminContext, { http, origin }) =>
    await removeFactor(context, adminOf(http), origin, 'totp', deleteTotp),
})

const beginPasskey = operation({
  ...common,
  id: 'administrators.enrollPasskey',
  stepUp: 'always',
  method: 'POST',
  path: passkeysPath,
  summary: 'Start to add a passkey',
  success: ok(PasskeyCreationOptions),
  async handle(context: AdminContext, { http }) {
    const party = requireParty(context)
    return await context.database.transaction(async (transaction) => {
      const { id, email } = await lockEnroller(transaction, adminOf(http))
      const existing = await listPasskeys(transaction, id)
      if (existing.length >= mostPasskeys) throw adminErrors.tooManyAdminPasskeys(mostPasskeys)
      const challenge = createChallenge()
      await insertChallenge(transaction, 'enroll', id, challenge)
      const rp = { id: party.id, name: `${context.appName} administration` }
      return creationOptions(rp, { id, name: email ?? 'administrator' }, existing, challenge)
    })
  },
})

const confirmPasskey = operation({
  ...common,
  id: 'administrators.confirmPasskey',
  stepUp: 'always',
  method: 'POST',
  path: `${passkeysPath}/confirm`,
  summary: 'Add the passkey that the browser made',
  description: 'The first factor ends other sign-ins of the administrator, and returns backup codes.',
  body: Type.Object({
    display_name: Type.Optional(displayName),
    attestation_response: attestationResponse,
  }),
  success: ok(Type.Object({ passkey: AdministratorPasskey, backupCodes })),
  async handle(context: AdminContext, { body, http, origin }, reply) {
    const identity = adminOf(http)
    const party = requireParty(context)
    const name = readDisplayName(body.display_name) ?? 'Passkey'
    const attestation = parseAttestation(body.attestation_response)
    const refuse = (reason: string) => {
      context.log.info({ reason: reason.slice(0, 500) }, 'passkey of an administrator refused')
      return adminErrors.adminPasskeyFailed()
    }
    if (attestation === undefined) throw refuse('the response is malformed')
    let verified: VerifiedPasskey
    try {
      verified = await verifyAttestation(attestation, party)
    } catch (error) {
      throw refuse(messageOf(error))
    }
    const { clientData, transports } = attestation
    const added = await context.database.transaction(async (transaction) => {
      const { id, isFirstFactor } = await lockEnroller(transaction, identity)
      if (!(await consumeEnrollment(transaction, id, clientData.challenge))) {
        throw refuse('no enrolment waits for this challenge')
      }
      const { length } = await listPasskeys(transaction, id)
      if (length >= mostPasskeys) throw adminErrors.tooManyAdminPasskeys(mostPasskeys)
      const passkey = await insertPasskey(transaction, id, { ...verified, transports, displayName: name })
      if (passkey === undefined) throw refuse('the credential id is already known')
      await recordAdminAction(transaction, 'administrators.enroll_factor', id, origin, {
        method: 'webauthn',
        name,
      })
      const codes = await finishEnrollment(context, transaction, identity, id, isFirstFactor)
      return { passkey: describePasskey(passkey), backupCodes: codes }
    })
    context.tokens.invalidateAll()
    void reply.header('cache-control', 'no-store')
    return added
  },
})

const removePasskey = operation({
  ...common,
  id: 'administrators.removePasskey',
  stepUp: 'always',
  method: 'DELETE',
  path: `${passkeysPath}/:id`,
  summary: 'Remove a passkey',
  description: 'Owners are notified by mail.',
  params: Type.Object({ id: refusedWith({ invalid: adminErrors.administratorFactorNotFound }, uuid) }),
  success: noContent,
  handle: async (context: AdminContext, { params, http, origin }) =>
    await removeFactor(context, adminOf(http), origin, 'webauthn', (transaction, id) =>
      deletePasskey(transaction, id, params.id),
    ),
})

const renewCodes = operation({
  ...common,
  id: 'administrators.renewBackupCodes',
  stepUp: 'always',
  method: 'POST',
  path: `${path}/backup-codes`,
  summary: 'Replace the backup codes by ten new ones',
  success: ok(Type.Object({ backupCodes })),
  async handle(context: AdminContext, { http, origin }, reply) {
    const codes = await context.database.transaction(async (transaction) => {
      const { id, isFirstFactor } = await lockEnroller(transaction, adminOf(http))
      if (isFirstFactor) throw adminErrors.noSecondFactor()
      await recordAdminAction(transaction, 'administrators.renew_backup_codes', id, origin, {})
      return await createCodes(context, transaction, id)
    })
    void reply.header('cache-control', 'no-store')
    return { backupCodes: codes }
  },
})

const challengePasskey = operation({
  ...common,
  id: 'administrators.challengePasskey',
  method: 'POST',
  path: `${passkeysPath}/challenge`,
  summary: 'Request a passkey of this administrator, to confirm a sensitive operation',
  success: ok(PasskeyRequestOptions),
  async handle(context: AdminContext, { http }) {
    return await requestPasskey(context, requireAccount(adminOf(http)))
  },
})

const stepUp = operation({
  ...common,
  id: 'administrators.stepUp',
  method: 'POST',
  path: '/api/admin/account/step-up',
  summary: 'Prove a second factor, which admits sensitive operations of this session for ten minutes',
  description: 'Requires a code of the authenticator app, a backup code, or the assertion of a passkey.',
  body: Type.Object({ code: Type.Optional(anyCode), ...passkeyMembers }),
  success: noContent,
  async handle(context: AdminContext, { body, http, origin }) {
    const { sessionId, ...identity } = adminOf(http)
    const administratorId = requireAccount(identity)
    if (!identity.secondFactor.isEnrolled) throw adminErrors.noSecondFactor()
    // Before it can guess codes.
    if (!identity.secondFactor.canProve) throw adminErrors.programToken()
    await proveFactor(context, administratorId, body, async (transaction, method) => {
      await transaction.count(
        sql`update basalt.admin_sessions set second_factor_at = now() where id = ${sessionId}`,
      )
      await recordAdminAction(transaction, 'administrators.step_up', administratorId, origin, { method })
    })
    context.tokens.invalidate(sessionId)
  },
})

const removeAll = operation({
  id: 'administrators.removeFactors',
  guard: 'admin',
  permission: 'owner',
  tag: 'administrators',
  stepUp: 'always',
  method: 'DELETE',
  path: '/api/admin/administrators/:id/factors',
  summary: 'Remove the second factors of an administrator who has lost them',
  description: 'Their sessions end. Owners are notified by mail.',
  params: Type.Object({ id: refusedWith({ invalid: adminErrors.administratorNotFound }, uuid) }),
  success: noContent,
  async handle({ database, queue, tokens }: AdminContext, { params: { id }, origin }) {
    await database.transaction(async (transaction) => {
      if ((await lockAdministrator(transaction, id)) === undefined) throw adminErrors.administratorNotFound()
      const removed = await removeAllFactors(transaction, id)
      if (removed === 0) throw adminErrors.administratorFactorNotFound()
      await transaction.count(
        sql`delete from basalt.admin_sessions where administrator_id = ${id} and name is null`,
      )
      await mailRemovedFactor(transaction, id)
      await recordAdminAction(transaction, 'administrators.remove_factors', id, origin, { removed })
    })
    tokens.invalidateAll()
    queue.wake()
  },
})

/** Operations on second factors. */
export const secondFactorOperations = [
  list,
  enrollTotp,
  confirmApp,
  removeTotp,
  beginPasskey,
  confirmPasskey,
  removePasskey,
  renewCodes,
  challengePasskey,
  stepUp,
  removeAll,
]

/** Requests a passkey of an administrator, or any passkey for a sign-in by it alone. */
export async function requestPasskey(context: AdminContext, administratorId: string | null) {
  const party = requireParty(context)
  const { database } = context
  const allowed = administratorId === null ? undefined : await listPasskeys(database, administratorId)
  const challenge = createChallenge()
  const purpose = administratorId === null ? 'sign_in' : 'verify'
  const challenge_id = await insertChallenge(database, purpose, administratorId, challenge)
  const verification = administratorId === null ? 'required' : 'preferred'
  return { challenge_id, options: requestOptions(party, challenge, verification, allowed) }
}

/** Returns the id of the administrator. @throws AppError no_administrator */
function requireAccount({ administratorId }: Pick<AdminIdentity, 'administratorId'>): string {
  if (administratorId === undefined) throw adminErrors.noAdministrator()
  return administratorId
}

/**
 * Locks the administrator and the session of an enrolment. The second of two
 * concurrent first enrolments sees the first one.
 *
 * @throws AppError no_administrator, program_token, step_up_required, admin_required
 */
async function lockEnroller(transaction: Queryable, identity: AdminIdentity) {
  const id = requireAccount(identity)
  const administrator = await lockAdministrator(transaction, id)
  const session = await transaction.maybeOne<{ name: string | null; is_fresh: boolean }>(sql`
    select s.name, ${isFresh} as is_fresh from basalt.admin_sessions s where s.id = ${identity.sessionId} for update`)
  if (administrator === undefined || session === undefined) throw httpErrors.adminRequired()
  if (session.name !== null) throw adminErrors.programToken()
  const isEnrolled = await hasSecondFactor(transaction, id)
  if (lacksStepUp({ ...identity.secondFactor, isEnrolled, isFresh: session.is_fresh }))
    throw httpErrors.stepUpRequired()
  return { id, email: administrator.email, isFirstFactor: !isEnrolled }
}

/** Records the proof of the new factor. The first one ends other sign-ins. @returns the backup codes of the first one */
async function finishEnrollment(
  context: AdminContext,
  transaction: Queryable,
  { sessionId }: AdminIdentity,
  id: string,
  isFirstFactor: boolean,
): Promise<string[]> {
  await transaction.count(sql`
    update basalt.admin_sessions set second_factor_at = now() where id = ${sessionId}`)
  if (!isFirstFactor) return []
  await transaction.count(sql`
    delete from basalt.admin_sessions
    where administrator_id = ${id} and name is null and id <> ${sessionId}`)
  return await createCodes(context, transaction, id)
}

async function createCodes({ secrets }: AdminContext, transaction: Queryable, id: string): Promise<string[]> {
  const codes = createBackupCodes()
  const sealed = codes.map((each) =>
    secrets().seal(Buffer.from(normalizeBackupCode(each)), backupContext(id)),
  )
  await replaceBackupCodes(transaction, id, sealed)
  return codes
}

async function removeFactor(
  { database, queue, tokens }: AdminContext,
  identity: AdminIdentity,
  origin: RequestOrigin,
  method: string,
  remove: (transaction: Queryable, id: string) => Promise<boolean>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const { id } = await lockEnroller(transaction, identity)
    if (!(await remove(transaction, id))) throw adminErrors.administratorFactorNotFound()
    await removeOrphanedBackupCodes(transaction, id)
    await mailRemovedFactor(transaction, id)
    await recordAdminAction(transaction, 'administrators.remove_factor', id, origin, { method })
  })
  tokens.invalidateAll()
  queue.wake()
}

const describePasskey = ({ id, display_name, created_at, last_used_at }: StoredPasskey) => ({
  id,
  displayName: display_name,
  createdAt: created_at,
  lastUsedAt: last_used_at,
})
