import { originOf } from '../../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { AccountContext } from '../context.ts'
import { describeSessions } from '../sessions/session-use.ts'
import { requireUser } from '../users.ts'
import { changeUser } from './change-user.ts'
import { createUser } from './create-user.ts'
import { previewDeletion } from './deletion-preview.ts'
import { disableUser, enableUser } from './disable-user.ts'
import { endUserSession, endUserSessions } from './end-sessions.ts'
import { getListedUser, listUsers } from './list-users.ts'
import { mailUser } from './mail-user.ts'
import { removeUser } from './remove-user.ts'
import * as schemas from './schemas.ts'

/** The administration of users. */
export function adminUserRoutes(app: HttpServer, context: AccountContext): void {
  const { database } = context
  app.get(
    '/api/admin/users',
    { config: { guard: 'admin', operation: 'users.list' }, schema: schemas.listUsersSchema },
    async (request, reply) => reply.send(await listUsers(database, request.query)),
  )
  app.post(
    '/api/admin/users',
    { config: { guard: 'admin', operation: 'users.create' }, schema: schemas.createUserSchema },
    async (request, reply) => {
      const id = await createUser(context, request.body, originOf(request))
      return reply.code(201).send(await getListedUser(database, id))
    },
  )
  app.get(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.get' }, schema: schemas.getUserSchema },
    async (request, reply) => reply.send(await getListedUser(database, request.params.id)),
  )
  app.patch(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.update' }, schema: schemas.updateUserSchema },
    async (request, reply) => {
      await changeUser(context, request.params.id, request.body, originOf(request))
      return reply.send(await getListedUser(database, request.params.id))
    },
  )
  app.post(
    '/api/admin/users/:id/mail',
    { config: { guard: 'admin', operation: 'users.sendMail' }, schema: schemas.mailUserSchema },
    async (request, reply) => {
      await mailUser(context, request.params.id, request.body.purpose, originOf(request))
      return reply.code(202).send({ message: 'the mail will be sent' })
    },
  )
  app.get(
    '/api/admin/users/:id/sessions',
    { config: { guard: 'admin', operation: 'users.listSessions' }, schema: schemas.userSessionsSchema },
    async (request, reply) => {
      await requireUser(database, request.params.id)
      return reply.send(await describeSessions(context, request.params.id, undefined))
    },
  )
  app.delete(
    '/api/admin/users/:id/sessions/:sessionId',
    { config: { guard: 'admin', operation: 'users.endSession' }, schema: schemas.endUserSessionSchema },
    async (request, reply) => {
      await endUserSession(context, request.params, originOf(request))
      return reply.code(204).send()
    },
  )
  app.delete(
    '/api/admin/users/:id/sessions',
    { config: { guard: 'admin', operation: 'users.endSessions' }, schema: schemas.endUserSessionsSchema },
    async (request, reply) => {
      await endUserSessions(context, request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
  app.post(
    '/api/admin/users/:id/disable',
    { config: { guard: 'admin', operation: 'users.disable' }, schema: schemas.disableUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await disableUser(context, id, originOf(request))
      return reply.send(await getListedUser(database, id))
    },
  )
  app.post(
    '/api/admin/users/:id/enable',
    { config: { guard: 'admin', operation: 'users.enable' }, schema: schemas.enableUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await enableUser(context, id, originOf(request))
      return reply.send(await getListedUser(database, id))
    },
  )
  app.get(
    '/api/admin/users/:id/deletion',
    { config: { guard: 'admin', operation: 'users.previewDeletion' }, schema: schemas.deletionSchema },
    async (request, reply) => {
      await requireUser(database, request.params.id)
      return reply.send(await previewDeletion(database, request.params.id))
    },
  )
  app.delete(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.delete' }, schema: schemas.deleteUserSchema },
    async (request, reply) => {
      await removeUser(context, request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
}
