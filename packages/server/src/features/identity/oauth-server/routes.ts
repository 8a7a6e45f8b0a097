import type { FastifyReply, FastifyRequest } from 'fastify'
import { userOf } from '../../../http/access/authentication.ts'
import { acceptForms } from '../../../http/requests/body.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { answerAuthorize, answerConsent } from './authorize/json.ts'
import { registerClient } from './clients/register.ts'
import { type OAuthContext, requireEnabled } from './context.ts'
import { readForm } from './form.ts'
import { introspectToken } from './introspect.ts'
import { describeResource, describeServer } from './metadata.ts'
import { answerProtocolError, bodyErrors } from './protocol-error.ts'
import { revokeToken } from './revoke.ts'
import * as schemas from './schemas.ts'
import { answerTokenRequest } from './token/index.ts'
import { listGrantsOf, revokeGrantOf } from './user-grants.ts'

/** Where the user is who a token says: the authorization endpoint as JSON, and what was given. */
export function userRoutes(app: HttpServer, context: OAuthContext): void {
  void app.register(async (scope: HttpServer) => {
    scope.setErrorHandler((error, _request, reply) => answerProtocolError(error, reply, bodyErrors.ofJson))
    scope.get(
      '/api/auth/authorize',
      { config: { guard: 'bearer', operation: 'oauth.authorize' }, schema: schemas.authorizeSchema },
      async (request, reply) => {
        requireEnabled(context)
        return await answerAuthorize(context, request, reply)
      },
    )
    scope.post(
      '/api/auth/authorize/consent',
      { config: { guard: 'bearer', operation: 'oauth.consent' }, schema: schemas.consentSchema },
      async (request, reply) => {
        requireEnabled(context)
        return await answerConsent(context, request, request.body, reply)
      },
    )
  })
  app.get(
    '/api/auth/grants',
    { config: { guard: 'bearer', operation: 'oauth.listGrants' }, schema: schemas.listGrantsSchema },
    async (request, reply) => {
      requireEnabled(context)
      return reply.send(await listGrantsOf(context, userOf(request).userId))
    },
  )
  app.delete(
    '/api/auth/grants/:id',
    { config: { guard: 'bearer', operation: 'oauth.revokeGrant' }, schema: schemas.revokeGrantSchema },
    async (request, reply) => {
      requireEnabled(context)
      await revokeGrantOf(context, userOf(request).userId, request.params.id)
      return reply.code(204).send()
    },
  )
}

/** Where clients speak for themselves, in forms. */
export function clientRoutes(app: HttpServer, context: OAuthContext): void {
  void app.register(async (scope: HttpServer) => {
    acceptForms(scope)
    scope.setErrorHandler((error, _request, reply) => answerProtocolError(error, reply, bodyErrors.ofForms))
    const post = (
      path: string,
      operation: string,
      schema: object,
      answer: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
    ) => {
      scope.post(path, { config: { guard: 'public', operation }, schema }, async (request, reply) => {
        // RFC 6749 §5.1.
        void reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
        requireEnabled(context)
        return await answer(request, reply)
      })
    }
    post('/api/auth/token', 'oauth.token', schemas.tokenSchema, async (request, reply) =>
      reply.send(await answerTokenRequest(context, request.headers.authorization, readForm(request))),
    )
    post('/api/auth/revoke', 'oauth.revoke', schemas.revokeSchema, async (request, reply) => {
      await revokeToken(context, readForm(request).require('token'))
      // RFC 7009 §2.2: clients ignore what the body holds.
      return reply.send({})
    })
    post('/api/auth/introspect', 'oauth.introspect', schemas.introspectSchema, async (request, reply) =>
      reply.send(await introspectToken(context, request.headers.authorization, readForm(request))),
    )
  })
}

/** Where clients register themselves. */
export function registrationRoutes(app: HttpServer, context: OAuthContext): void {
  void app.register(async (scope: HttpServer) => {
    scope.setErrorHandler((error, _request, reply) =>
      answerProtocolError(error, reply, bodyErrors.ofRegistration),
    )
    scope.post(
      '/api/auth/clients',
      { config: { guard: 'public', operation: 'oauth.register' }, schema: schemas.registerSchema },
      async (request, reply) => {
        void reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
        requireEnabled(context)
        const by = { origin: originOf(request), address: addressKey(request) }
        return reply.code(201).send(await registerClient(context, request.body, by))
      },
    )
  })
}

export function metadataRoutes(app: HttpServer, context: OAuthContext): void {
  app.get(
    '/.well-known/oauth-authorization-server',
    {
      config: { guard: 'public', operation: 'oauth.serverMetadata' },
      schema: schemas.serverMetadataSchema,
    },
    async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
      requireEnabled(context)
      return reply.send(describeServer(context))
    },
  )
  app.get(
    '/.well-known/oauth-protected-resource',
    {
      config: { guard: 'public', operation: 'oauth.resourceMetadata' },
      schema: schemas.resourceMetadataSchema,
    },
    async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
      requireEnabled(context)
      return reply.send(describeResource(context))
    },
  )
}
