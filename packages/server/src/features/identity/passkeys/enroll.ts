import { userOf } from '../../../http/access/authentication.ts'
import { ok, operation } from '../../../http/operation.ts'
import { olderName, requiredByHandler } from '../../../http/schemas.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import {
  attestationResponse,
  createChallenge,
  creationOptions,
  displayName,
  PasskeyCreationOptions,
  parseAttestation,
  readDisplayName,
  type VerifiedPasskey,
  verifyAttestation,
} from '../../operations/webauthn/index.ts'
import { fieldRequired, messageSchema } from '../accounts/index.ts'
import {
  beginFactor,
  confirmFactor,
  lockEnroller,
  requireEnroller,
  requirePassedFactor,
} from '../mfa/index.ts'
import { consumeEnrollment, insertEnrollment, isEnrollmentWaiting } from './challenges.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'
import { insertPasskey, listPasskeys } from './passkey.ts'
import { requireRelyingParty } from './relying-party.ts'
import { hasTwoFactors } from './two-factors.ts'

/** Maximum number of passkeys of a user. Each of them is part of every challenge of the user. */
const mostPasskeys = 50

const notWaiting = 'no enrolment of the user waits for this challenge'

const common = { method: 'POST', guard: 'bearer', tag: 'passkeys' } as const
const path = '/api/auth/mfa/webauthn/enroll'

const begin = operation({
  ...common,
  id: 'passkeys.enroll',
  path,
  summary: 'Start to add a passkey',
  description: 'With a factor already enrolled, the session must have passed two factors.',
  success: ok(PasskeyCreationOptions),
  async handle(context: PasskeyContext, { http }) {
    const identity = userOf(http)
    const party = requireRelyingParty(context)
    const { database, appName } = context.mfa.accounts
    return await database.transaction(async (transaction) => {
      const user = await lockEnroller(transaction, identity)
      await requirePassedFactor(transaction, identity, hasTwoFactors(identity))
      const existing = await listPasskeys(transaction, user.id)
      if (existing.length >= mostPasskeys) throw passkeyErrors.tooManyPasskeys(mostPasskeys)
      const challenge = createChallenge()
      await insertEnrollment(transaction, user.id, challenge)
      const name = user.email ?? user.phone ?? user.id
      return creationOptions({ id: party.id, name: appName }, { id: user.id, name }, existing, challenge)
    })
  },
})

const confirm = operation({
  ...common,
  id: 'passkeys.confirm',
  path: `${path}/confirm`,
  summary: 'Add the passkey that the browser made',
  description: 'The first passkey also enrols the factor.',
  body: Type.Object({
    display_name: Type.Optional(displayName),
    attestation_response: requiredByHandler(attestationResponse),
    attestation: olderName(Type.Unknown()),
  }),
  success: ok(messageSchema),
  async handle(context: PasskeyContext, { body, http }) {
    const identity = userOf(http)
    const party = requireRelyingParty(context)
    const response = body.attestation_response ?? body.attestation
    if (response == null) throw fieldRequired('attestation_response')
    const displayName = readDisplayName(body.display_name) ?? 'Passkey'
    const { id: userId } = await requireEnroller(context.mfa, identity)
    const attestation = parseAttestation(response)
    if (attestation === undefined) throw passkeyErrors.invalidAttestationResponse()

    const refuse = (reason: string) => {
      context.log.info({ userId, reason: reason.slice(0, 500) }, 'passkey refused')
      return passkeyErrors.webauthnEnrollmentFailed()
    }
    let passkey: VerifiedPasskey
    try {
      passkey = await verifyAttestation(attestation, party)
    } catch (error) {
      throw refuse(messageOf(error))
    }
    const { clientData, transports } = attestation
    await context.mfa.accounts.database.transaction(async (transaction) => {
      await lockEnroller(transaction, identity)
      const isWaiting = await isEnrollmentWaiting(transaction, userId, clientData.challenge)
      if (!isWaiting) throw refuse(notWaiting)
      await requirePassedFactor(transaction, identity, hasTwoFactors(identity))
      const { length } = await listPasskeys(transaction, userId)
      if (length >= mostPasskeys) throw passkeyErrors.tooManyPasskeys(mostPasskeys)
      const factor = await beginFactor(transaction, userId, 'webauthn')
      if (factor !== undefined) await confirmFactor(transaction, factor)
      const added = await insertPasskey(transaction, userId, { ...passkey, transports, displayName })
      if (added === undefined) throw passkeyErrors.passkeyRegistered()
      // This lock comes last, in the order in which all factors are removed. One order prevents deadlocks.
      if (!(await consumeEnrollment(transaction, userId, clientData.challenge))) throw refuse(notWaiting)
    })
    return { message: 'WebAuthn MFA enrollment confirmed' }
  },
})

/** Operations that enrol passkeys. */
export const enrollmentOperations = [begin, confirm]
