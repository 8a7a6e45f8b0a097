import { pendingOf, userOf } from '../../../http/access/authentication.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import type { HttpServer } from '../../../http/server.ts'
import { clientOf } from '../accounts/index.ts'
import type { PasskeyContext } from './context.ts'
import { confirmPasskey, enrollPasskey } from './enroll.ts'
import { describePasskeys, removeAllPasskeys, removePasskey, rename } from './manage.ts'
import * as schemas from './schemas.ts'
import { challengePasskey, verifyPasskey } from './second-factor.ts'
import { beginDiscoverableSignIn, beginSignInByEmail, finishSignIn, type GivenAssertion } from './sign-in.ts'

/** Passkeys. */
export function passkeyRoutes(app: HttpServer, context: PasskeyContext): void {
  const factor = '/api/auth/mfa/webauthn'
  const signIn = '/api/auth/webauthn/login'

  app.post(
    `${factor}/enroll`,
    { config: { guard: 'bearer', operation: 'passkeys.enroll' }, schema: schemas.enrollSchema },
    async (request, reply) => reply.send(await enrollPasskey(context, userOf(request))),
  )
  app.post(
    `${factor}/enroll/confirm`,
    { config: { guard: 'bearer', operation: 'passkeys.confirm' }, schema: schemas.confirmSchema },
    async (request, reply) => {
      const { display_name, attestation_response, attestation } = request.body
      await confirmPasskey(context, userOf(request), {
        display_name,
        attestation_response: attestation_response ?? attestation,
      })
      return reply.send({ message: 'WebAuthn MFA enrollment confirmed' })
    },
  )
  app.post(
    `${factor}/challenge`,
    { config: { guard: 'mfa', operation: 'passkeys.challenge' }, schema: schemas.challengeSchema },
    async (request, reply) => reply.send(await challengePasskey(context, pendingOf(request))),
  )
  app.post(
    `${factor}/verify`,
    { config: { guard: 'mfa', operation: 'passkeys.verify' }, schema: schemas.verifySchema },
    async (request, reply) =>
      reply.send(
        await verifyPasskey(context, pendingOf(request), readGiven(request.body), clientOf(request)),
      ),
  )

  app.post(
    `${signIn}/begin`,
    { config: { guard: 'public', operation: 'passkeys.beginSignIn' }, schema: schemas.beginSchema },
    async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send(await beginSignInByEmail(context, request.body.email, addressKey(request))),
  )
  app.post(
    `${signIn}/finish`,
    { config: { guard: 'public', operation: 'passkeys.finishSignIn' }, schema: schemas.finishSchema },
    async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      const [given, client] = [readGiven(request.body), clientOf(request)]
      return reply.send(await finishSignIn(context, 'email', given, client, addressKey(request)))
    },
  )
  app.post(
    `${signIn}/discover/begin`,
    {
      config: { guard: 'public', operation: 'passkeys.beginDiscoverableSignIn' },
      schema: schemas.beginDiscoverableSchema,
    },
    async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send(await beginDiscoverableSignIn(context, addressKey(request))),
  )
  app.post(
    `${signIn}/discover/finish`,
    {
      config: { guard: 'public', operation: 'passkeys.finishDiscoverableSignIn' },
      schema: schemas.finishSchema,
    },
    async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      const [given, client] = [readGiven(request.body), clientOf(request)]
      return reply.send(await finishSignIn(context, 'discoverable', given, client, addressKey(request)))
    },
  )

  app.get(
    `${factor}/credentials`,
    { config: { guard: 'bearer', operation: 'passkeys.list' }, schema: schemas.listSchema },
    async (request, reply) => reply.send({ credentials: await describePasskeys(context, userOf(request)) }),
  )
  app.patch(
    `${factor}/credentials/:credential_id`,
    { config: { guard: 'bearer', operation: 'passkeys.rename' }, schema: schemas.renameSchema },
    async (request, reply) => {
      const { params, body } = request
      return reply.send(await rename(context, userOf(request), params.credential_id, body.display_name))
    },
  )
  app.delete(
    `${factor}/credentials/:credential_id`,
    { config: { guard: 'bearer', operation: 'passkeys.remove' }, schema: schemas.removeSchema },
    async (request, reply) => {
      await removePasskey(context, userOf(request), request.params.credential_id)
      return reply.code(204).send()
    },
  )
  app.delete(
    factor,
    { config: { guard: 'bearer', operation: 'passkeys.removeAll' }, schema: schemas.removeAllSchema },
    async (request, reply) => {
      await removeAllPasskeys(context, userOf(request))
      return reply.code(204).send()
    },
  )
}

/** Names of both forms of the request, the older one included. */
function readGiven(body: {
  readonly challenge_id?: string
  readonly challengeId?: string
  readonly assertion_response?: unknown
  readonly assertion?: unknown
}): GivenAssertion {
  return {
    challenge_id: body.challenge_id ?? body.challengeId,
    assertion_response: body.assertion_response ?? body.assertion,
  }
}
