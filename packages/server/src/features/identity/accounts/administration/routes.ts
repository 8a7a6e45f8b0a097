import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { originOf, type RequestOrigin } from '../../../../http/request-origin.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { describeSessions } from '../sessions/session-use.ts'
import { endSession, endSessionsOf, findSessionOwner } from '../sessions/sessions.ts'
import { deleteUser, findUserById, lockUser } from '../users.ts'
import { changeUser } from './change-user.ts'
import { createUser } from './create-user.ts'
import { previewDeletion } from './deletion-preview.ts'
import { findListedUser, listUsers } from './list-users.ts'
import { mailUser } from './mail-user.ts'
import * as schemas from './schemas.ts'

/** The administration of users. */
export function adminUserRoutes(app: HttpServer, context: AccountContext): void {
  const { database, endedSessions } = context

  async function require(id: string): Promise<void> {
    if ((await findUserById(database, id)) === undefined) throw accountErrors.userNotFound()
  }

  async function describe(id: string) {
    const user = await findListedUser(database, id)
    if (user === undefined) throw accountErrors.userNotFound()
    return user
  }

  /** Changes the user and ends all sessions, with the audit row, in one transaction. */
  async function changeAndEndSessions(
    id: string,
    origin: RequestOrigin,
    action: string,
    change: (transaction: Queryable) => Promise<unknown>,
  ): Promise<void> {
    await require(id)
    const ended = await database.transaction(async (transaction) => {
      // A sign-in that is in flight holds the row: its session ends too, or never begins.
      await lockUser(transaction, id)
      await change(transaction)
      const sessions = await endSessionsOf(transaction, id)
      await recordAudit(transaction, { actor: 'admin', action, target: id, origin })
      return sessions
    })
    for (const session of ended) endedSessions.add(session)
  }

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
      return reply.code(201).send(await describe(id))
    },
  )
  app.get(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.get' }, schema: schemas.getUserSchema },
    async (request, reply) => reply.send(await describe(request.params.id)),
  )
  app.patch(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.update' }, schema: schemas.updateUserSchema },
    async (request, reply) => {
      await changeUser(context, request.params.id, request.body, originOf(request))
      return reply.send(await describe(request.params.id))
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
      await require(request.params.id)
      return reply.send(await describeSessions(context, request.params.id, undefined))
    },
  )
  app.delete(
    '/api/admin/users/:id/sessions/:sessionId',
    { config: { guard: 'admin', operation: 'users.endSession' }, schema: schemas.endUserSessionSchema },
    async (request, reply) => {
      const { id, sessionId } = request.params
      await require(id)
      if (!isUuid(sessionId)) throw accountErrors.invalidSessionId()
      await database.transaction(async (transaction) => {
        const isOfUser = (await findSessionOwner(transaction, sessionId)) === id.toLowerCase()
        if (!isOfUser || !(await endSession(transaction, sessionId))) throw accountErrors.sessionNotFound()
        const entry = { action: 'users.end_session', target: id, detail: { sessionId } }
        await recordAudit(transaction, { actor: 'admin', ...entry, origin: originOf(request) })
      })
      endedSessions.add(sessionId)
      return reply.code(204).send()
    },
  )
  app.delete(
    '/api/admin/users/:id/sessions',
    { config: { guard: 'admin', operation: 'users.endSessions' }, schema: schemas.endUserSessionsSchema },
    async (request, reply) => {
      const origin = originOf(request)
      await changeAndEndSessions(request.params.id, origin, 'users.end_sessions', async () => undefined)
      return reply.code(204).send()
    },
  )
  app.post(
    '/api/admin/users/:id/disable',
    { config: { guard: 'admin', operation: 'users.disable' }, schema: schemas.disableUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await changeAndEndSessions(id, originOf(request), 'users.disable', (transaction) =>
        transaction.count(sql`
          update basalt.users set disabled_at = coalesce(disabled_at, now()), updated_at = now() where id = ${id}`),
      )
      return reply.send(await describe(id))
    },
  )
  app.post(
    '/api/admin/users/:id/enable',
    { config: { guard: 'admin', operation: 'users.enable' }, schema: schemas.enableUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await require(id)
      await database.transaction(async (transaction) => {
        await transaction.count(
          sql`update basalt.users set disabled_at = null, updated_at = now() where id = ${id}`,
        )
        const origin = originOf(request)
        await recordAudit(transaction, { actor: 'admin', action: 'users.enable', target: id, origin })
      })
      return reply.send(await describe(id))
    },
  )
  app.get(
    '/api/admin/users/:id/deletion',
    { config: { guard: 'admin', operation: 'users.previewDeletion' }, schema: schemas.deletionSchema },
    async (request, reply) => {
      await require(request.params.id)
      return reply.send(await previewDeletion(database, request.params.id))
    },
  )
  app.delete(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.delete' }, schema: schemas.deleteUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await require(id)
      const ended = await database.transaction(async (transaction) => {
        await lockUser(transaction, id)
        const sessions = await endSessionsOf(transaction, id)
        if (!(await deleteUser(transaction, id, accountErrors.userReferenced))) {
          throw accountErrors.userNotFound()
        }
        const origin = originOf(request)
        await recordAudit(transaction, { actor: 'admin', action: 'users.delete', target: id, origin })
        return sessions
      })
      for (const session of ended) endedSessions.add(session)
      return reply.code(204).send()
    },
  )
}
