import { pendingOf, userOf } from '../../../http/access/authentication.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { clientOf, requireUser } from '../accounts/index.ts'
import { countBackupCodes, generateBackupCodes, verifyBackupCode } from './backup-codes.ts'
import type { MfaContext } from './context.ts'
import {
  describeFactors,
  findOwnFactor,
  removeFactorOf,
  removeOwnFactor,
  resetFactorsOf,
} from './factor-list.ts'
import * as schemas from './schemas.ts'
import { challengeSentCode, confirmSentCode, enrollSentCode, verifySentCode } from './sent-codes.ts'
import { challengeTotp, confirmTotp, enrollTotp, verifyTotp } from './totp.ts'

/** Second factors. */
export function mfaRoutes(app: HttpServer, context: MfaContext): void {
  const base = '/api/auth/mfa'

  app.post(
    `${base}/totp/enroll`,
    { config: { guard: 'bearer', operation: 'mfa.enrollTotp' }, schema: schemas.enrollTotpSchema },
    async (request, reply) => reply.send(await enrollTotp(context, userOf(request))),
  )
  app.post(
    `${base}/totp/enroll/confirm`,
    { config: { guard: 'bearer', operation: 'mfa.confirmTotp' }, schema: schemas.confirmSchema },
    async (request, reply) => {
      await confirmTotp(context, userOf(request), request.body.code)
      return reply.send({ message: 'TOTP MFA enrollment confirmed' })
    },
  )
  app.post(
    `${base}/totp/challenge`,
    { config: { guard: 'mfa', operation: 'mfa.challengeTotp' }, schema: schemas.challengeSchema },
    async (request, reply) => reply.send(await challengeTotp(context, pendingOf(request))),
  )
  app.post(
    `${base}/totp/verify`,
    { config: { guard: 'mfa', operation: 'mfa.verifyTotp' }, schema: schemas.verifySchema },
    async (request, reply) =>
      reply.send(await verifyTotp(context, pendingOf(request), request.body, clientOf(request))),
  )

  app.post(
    `${base}/email/enroll`,
    { config: { guard: 'bearer', operation: 'mfa.enrollEmail' }, schema: schemas.enrollEmailSchema },
    async (request, reply) => {
      await enrollSentCode(context, userOf(request), 'email')
      return reply.send({ message: 'verification code sent to your email' })
    },
  )
  app.post(
    `${base}/email/enroll/confirm`,
    { config: { guard: 'bearer', operation: 'mfa.confirmEmail' }, schema: schemas.confirmSchema },
    async (request, reply) => {
      await confirmSentCode(context, userOf(request), 'email', request.body)
      return reply.send({ message: 'email MFA enrollment confirmed' })
    },
  )
  app.post(
    `${base}/email/challenge`,
    { config: { guard: 'mfa', operation: 'mfa.challengeEmail' }, schema: schemas.challengeSchema },
    async (request, reply) =>
      reply.send({ challenge_id: await challengeSentCode(context, pendingOf(request), 'email') }),
  )
  app.post(
    `${base}/email/verify`,
    { config: { guard: 'mfa', operation: 'mfa.verifyEmail' }, schema: schemas.verifySchema },
    async (request, reply) =>
      reply.send(await verifySentCode(context, pendingOf(request), 'email', request.body, clientOf(request))),
  )

  app.post(
    `${base}/sms/enroll`,
    { config: { guard: 'bearer', operation: 'mfa.enrollSms' }, schema: schemas.enrollSmsSchema },
    async (request, reply) => {
      await enrollSentCode(context, userOf(request), 'sms', request.body.phone)
      return reply.send({ message: 'verification code sent' })
    },
  )
  app.post(
    `${base}/sms/enroll/confirm`,
    { config: { guard: 'bearer', operation: 'mfa.confirmSms' }, schema: schemas.confirmSmsSchema },
    async (request, reply) => {
      await confirmSentCode(context, userOf(request), 'sms', request.body)
      return reply.send({ message: 'MFA enrollment confirmed' })
    },
  )
  app.post(
    `${base}/sms/challenge`,
    { config: { guard: 'mfa', operation: 'mfa.challengeSms' }, schema: schemas.challengeSmsSchema },
    async (request, reply) =>
      reply.send({
        challenge_id: await challengeSentCode(context, pendingOf(request), 'sms'),
        message: 'verification code sent',
      }),
  )
  app.post(
    `${base}/sms/verify`,
    { config: { guard: 'mfa', operation: 'mfa.verifySms' }, schema: schemas.verifySchema },
    async (request, reply) =>
      reply.send(await verifySentCode(context, pendingOf(request), 'sms', request.body, clientOf(request))),
  )

  for (const name of ['generate', 'regenerate'] as const) {
    app.post(
      `${base}/backup/${name}`,
      { config: { guard: 'aal2', operation: `mfa.${name}BackupCodes` }, schema: schemas.backupCodesSchema },
      async (request, reply) => reply.send({ codes: await generateBackupCodes(context, userOf(request)) }),
    )
  }
  app.get(
    `${base}/backup/count`,
    { config: { guard: 'bearer', operation: 'mfa.countBackupCodes' }, schema: schemas.backupCountSchema },
    async (request, reply) =>
      reply.send({ remaining: await countBackupCodes(context, userOf(request).userId) }),
  )
  app.post(
    `${base}/backup/verify`,
    { config: { guard: 'mfa', operation: 'mfa.verifyBackupCode' }, schema: schemas.verifyBackupSchema },
    async (request, reply) =>
      reply.send(await verifyBackupCode(context, pendingOf(request), request.body.code, clientOf(request))),
  )

  app.get(
    `${base}/factors`,
    { config: { guard: 'bearerOrMfa', operation: 'mfa.listFactors' }, schema: schemas.factorsSchema },
    async (request, reply) => {
      const { userId } = request.pending ?? userOf(request)
      return reply.send({ factors: await describeFactors(context, userId) })
    },
  )
  app.get(
    `${base}/factors/:id`,
    { config: { guard: 'aal2', operation: 'mfa.getFactor' }, schema: schemas.factorSchema },
    async (request, reply) => reply.send(await findOwnFactor(context, userOf(request), request.params.id)),
  )
  app.delete(
    `${base}/factors/:id`,
    { config: { guard: 'aal2', operation: 'mfa.removeFactor' }, schema: schemas.removeFactorSchema },
    async (request, reply) => {
      await removeOwnFactor(context, userOf(request), request.params.id)
      return reply.code(204).send()
    },
  )

  app.get(
    '/api/admin/users/:id/factors',
    { config: { guard: 'admin', operation: 'users.listFactors' }, schema: schemas.adminFactorsSchema },
    async (request, reply) => {
      const { id } = request.params
      await requireUser(context.accounts.database, id)
      return reply.send({ factors: await describeFactors(context, id) })
    },
  )
  app.delete(
    '/api/admin/users/:id/factors/:factorId',
    { config: { guard: 'admin', operation: 'users.removeFactor' }, schema: schemas.adminRemoveSchema },
    async (request, reply) => {
      const { id, factorId } = request.params
      await removeFactorOf(context, id, factorId, originOf(request))
      return reply.code(204).send()
    },
  )
  app.delete(
    '/api/admin/users/:id/factors',
    { config: { guard: 'admin', operation: 'users.resetFactors' }, schema: schemas.adminResetSchema },
    async (request, reply) => {
      await resetFactorsOf(context, request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
}
