import type { FastifyRequest } from 'fastify'
import { optionalUserOf, userOf } from '../../../http/access/authentication.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { linkEmailTo, signInAnonymously } from './methods/anonymous.ts'
import { confirmMagicLink, requestMagicLink } from './methods/email-link/magic-link.ts'
import { resendVerification, verifyEmail } from './methods/email-link/verify-email.ts'
import { logIn } from './methods/password/log-in.ts'
import { confirmPasswordReset, requestPasswordReset } from './methods/password/password-reset.ts'
import { register } from './methods/password/register.ts'
import { confirmSmsCode, requestSmsCode } from './methods/sms/sms-sign-in.ts'
import { changePassword, deleteSelf, describeSelf } from './own-account.ts'
import * as schemas from './schemas.ts'
import {
  createRotationQueue,
  describeSessions,
  logOut,
  refresh,
  revokeOtherSessions,
  revokeSession,
} from './sessions/session-use.ts'
import type { Client } from './sessions/sessions.ts'

/** Signing up, in and out, and one's own account. */
export function accountRoutes(app: HttpServer, context: AccountContext): void {
  const rotations = createRotationQueue(context)
  // What carries tokens is never cached, also where no token was sent.
  app.addHook('onSend', async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
  })

  app.post(
    '/api/auth/register',
    { config: { guard: 'public', operation: 'accounts.register' }, schema: schemas.registerSchema },
    async (request, reply) =>
      reply.code(201).send(await register(context, request.body, clientOf(request), addressKey(request))),
  )
  app.post(
    '/api/auth/login',
    { config: { guard: 'public', operation: 'accounts.logIn' }, schema: schemas.logInSchema },
    async (request, reply) =>
      reply.send(await logIn(context, request.body, clientOf(request), addressKey(request))),
  )
  app.post(
    '/api/auth/refresh',
    { config: { guard: 'public', operation: 'accounts.refresh' }, schema: schemas.refreshSchema },
    async (request, reply) =>
      reply.send(await refresh(context, rotations, request.body.refreshToken, clientOf(request))),
  )
  app.post(
    '/api/auth/logout',
    { config: { guard: 'public', operation: 'accounts.logOut' }, schema: schemas.logOutSchema },
    async (request, reply) => {
      await logOut(context, request.body.refreshToken)
      return reply.code(204).send()
    },
  )

  app.get(
    '/api/auth/me',
    { config: { guard: 'bearer', operation: 'accounts.me' }, schema: schemas.meSchema },
    async (request, reply) => reply.send(await describeSelf(context, userOf(request))),
  )
  app.delete(
    '/api/auth/me',
    { config: { guard: 'bearer', operation: 'accounts.deleteMe' }, schema: schemas.deleteMeSchema },
    async (request, reply) => {
      await deleteSelf(context, userOf(request))
      return reply.code(204).send()
    },
  )
  app.post(
    '/api/auth/change-password',
    {
      config: { guard: 'bearer', operation: 'accounts.changePassword' },
      schema: schemas.changePasswordSchema,
    },
    async (request, reply) => {
      await changePassword(context, userOf(request), request.body)
      return reply.send({ message: 'password has been changed' })
    },
  )

  app.get(
    '/api/auth/sessions',
    { config: { guard: 'bearer', operation: 'accounts.listSessions' }, schema: schemas.sessionsSchema },
    async (request, reply) => {
      const { userId, sessionId } = userOf(request)
      return reply.send(await describeSessions(context, userId, sessionId))
    },
  )
  app.delete(
    '/api/auth/sessions/:id',
    { config: { guard: 'bearer', operation: 'accounts.revokeSession' }, schema: schemas.revokeSessionSchema },
    async (request, reply) => {
      await revokeSession(context, userOf(request), request.params.id)
      return reply.code(204).send()
    },
  )
  app.delete(
    '/api/auth/sessions',
    {
      config: { guard: 'bearer', operation: 'accounts.revokeOtherSessions' },
      schema: schemas.revokeOthersSchema,
    },
    async (request, reply) => {
      if (request.query.all_except_current !== 'true') throw accountErrors.allExceptCurrentRequired()
      await revokeOtherSessions(context, userOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    '/api/auth/password-reset',
    {
      config: { guard: 'public', operation: 'accounts.requestPasswordReset' },
      schema: schemas.passwordResetSchema,
    },
    async (request, reply) => {
      await requestPasswordReset(context, request.body.email, addressKey(request))
      return reply.send({ message: 'if that email exists, a reset link has been sent' })
    },
  )
  app.post(
    '/api/auth/password-reset/confirm',
    {
      config: { guard: 'public', operation: 'accounts.confirmPasswordReset' },
      schema: schemas.passwordResetConfirmSchema,
    },
    async (request, reply) => {
      await confirmPasswordReset(context, request.body, addressKey(request))
      return reply.send({ message: 'password has been reset' })
    },
  )
  app.post(
    '/api/auth/verify',
    { config: { guard: 'public', operation: 'accounts.verifyEmail' }, schema: schemas.verifySchema },
    async (request, reply) => {
      await verifyEmail(context, request.body.token)
      return reply.send({ message: 'email verified' })
    },
  )
  app.post(
    '/api/auth/verify/resend',
    { config: { guard: 'bearer', operation: 'accounts.resendVerification' }, schema: schemas.resendSchema },
    async (request, reply) => {
      await resendVerification(context, userOf(request).userId)
      return reply.send({ message: 'verification email sent' })
    },
  )

  app.post(
    '/api/auth/magic-link',
    { config: { guard: 'public', operation: 'accounts.requestMagicLink' }, schema: schemas.magicLinkSchema },
    async (request, reply) => {
      await requestMagicLink(context, request.body.email, addressKey(request))
      return reply.send({ message: 'if valid, a login link has been sent' })
    },
  )
  app.post(
    '/api/auth/magic-link/confirm',
    {
      config: { guard: 'optional', operation: 'accounts.confirmMagicLink' },
      schema: schemas.magicLinkConfirmSchema,
    },
    async (request, reply) =>
      reply.send(
        await confirmMagicLink(context, request.body.token, optionalUserOf(request), clientOf(request)),
      ),
  )
  app.post(
    '/api/auth/sms',
    { config: { guard: 'public', operation: 'accounts.requestSmsCode' }, schema: schemas.smsSchema },
    async (request, reply) => {
      await requestSmsCode(context, request.body.phone, addressKey(request))
      return reply.send({ message: 'if valid, a verification code has been sent' })
    },
  )
  app.post(
    '/api/auth/sms/confirm',
    { config: { guard: 'public', operation: 'accounts.confirmSmsCode' }, schema: schemas.smsConfirmSchema },
    async (request, reply) =>
      reply.send(await confirmSmsCode(context, request.body, clientOf(request), addressKey(request))),
  )
  app.post(
    '/api/auth/anonymous',
    { config: { guard: 'public', operation: 'accounts.signInAnonymously' }, schema: schemas.anonymousSchema },
    async (request, reply) =>
      reply.code(201).send(await signInAnonymously(context, clientOf(request), addressKey(request))),
  )
  app.post(
    '/api/auth/link/email',
    { config: { guard: 'bearer', operation: 'accounts.linkEmail' }, schema: schemas.linkEmailSchema },
    async (request, reply) =>
      reply.send(
        await linkEmailTo(context, userOf(request), request.body, clientOf(request), addressKey(request)),
      ),
  )
}

/** What a session remembers of the client, for its user to recognize it by. */
export function clientOf(request: FastifyRequest): Client {
  const userAgent = request.headers['user-agent'] ?? ''
  return { userAgent: userAgent.slice(0, 512), ipAddress: request.ip }
}
