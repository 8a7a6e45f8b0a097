import { pendingOf, userOf } from '../../../http/access/authentication.ts'
import { ok, operation } from '../../../http/operation.ts'
import { requiredByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationSchema, clientOf, messageSchema } from '../accounts/index.ts'
import type { MfaContext } from './context.ts'
import { challenge, challengeId, code, ofPendingSignIn, ofUser, phone } from './requests.ts'
import { challengeSentCode, confirmSentCode, enrollSentCode, verifySentCode } from './sent-codes.ts'

const enrollment = { ...ofUser, success: ok(messageSchema) } as const
const email = '/api/auth/mfa/email'
const sms = '/api/auth/mfa/sms'

const enrollEmail = operation({
  ...enrollment,
  id: 'mfa.enrollEmail',
  path: `${email}/enroll`,
  summary: 'Start to enrol codes by mail',
  async handle(context: MfaContext, { http }) {
    await enrollSentCode(context, userOf(http), 'email')
    return { message: 'verification code sent to your email' }
  },
})

const confirmEmail = operation({
  ...enrollment,
  id: 'mfa.confirmEmail',
  path: `${email}/enroll/confirm`,
  summary: 'Confirm codes by mail with the mailed code',
  body: Type.Object({ code }),
  async handle(context: MfaContext, { body, http }) {
    await confirmSentCode(context, userOf(http), 'email', body)
    return { message: 'email MFA enrollment confirmed' }
  },
})

const challengeEmail = operation({
  ...ofPendingSignIn,
  id: 'mfa.challengeEmail',
  path: `${email}/challenge`,
  summary: 'Mail a code for the pending sign-in',
  success: ok(challenge),
  handle: async (context: MfaContext, { http }) => ({
    challenge_id: await challengeSentCode(context, pendingOf(http), 'email'),
  }),
})

const verifyEmail = operation({
  ...ofPendingSignIn,
  id: 'mfa.verifyEmail',
  path: `${email}/verify`,
  summary: 'Complete the sign-in by a mailed code',
  body: Type.Object({ challenge_id: requiredByHandler(challengeId), code }),
  success: ok(authenticationSchema),
  handle: async (context: MfaContext, { body, http }) =>
    await verifySentCode(context, pendingOf(http), 'email', body, clientOf(http)),
})

const enrollSms = operation({
  ...enrollment,
  id: 'mfa.enrollSms',
  path: `${sms}/enroll`,
  summary: 'Start to enrol codes by SMS',
  body: Type.Object({ phone: requiredByHandler(phone) }),
  async handle(context: MfaContext, { body, http }) {
    await enrollSentCode(context, userOf(http), 'sms', body.phone)
    return { message: 'verification code sent' }
  },
})

const confirmSms = operation({
  ...enrollment,
  id: 'mfa.confirmSms',
  path: `${sms}/enroll/confirm`,
  summary: 'Confirm codes by SMS with the code that was sent',
  body: Type.Object({ phone: Type.Optional(phone), code }),
  async handle(context: MfaContext, { body, http }) {
    await confirmSentCode(context, userOf(http), 'sms', body)
    return { message: 'MFA enrollment confirmed' }
  },
})

const challengeSms = operation({
  ...ofPendingSignIn,
  id: 'mfa.challengeSms',
  path: `${sms}/challenge`,
  summary: 'Send a code by SMS for the pending sign-in',
  success: ok(Type.Object({ ...challenge.properties, message: Type.String() })),
  handle: async (context: MfaContext, { http }) => ({
    challenge_id: await challengeSentCode(context, pendingOf(http), 'sms'),
    message: 'verification code sent',
  }),
})

const verifySms = operation({
  ...ofPendingSignIn,
  id: 'mfa.verifySms',
  path: `${sms}/verify`,
  summary: 'Complete the sign-in by a code from SMS',
  description: 'Without `challenge_id` the latest challenge is used.',
  body: Type.Object({ challenge_id: Type.Optional(challengeId), code }),
  success: ok(authenticationSchema),
  handle: async (context: MfaContext, { body, http }) =>
    await verifySentCode(context, pendingOf(http), 'sms', body, clientOf(http)),
})

/** Operations on codes by mail and SMS. */
export const sentCodeOperations = [
  ...[enrollEmail, confirmEmail, challengeEmail, verifyEmail],
  ...[enrollSms, confirmSms, challengeSms, verifySms],
]
