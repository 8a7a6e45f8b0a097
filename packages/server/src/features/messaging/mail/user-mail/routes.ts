import { userOf } from '../../../../http/access/authentication.ts'
import { readOffset, readUuid } from '../../../../http/requests/filters.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { listSchema, sendSchema, sentLimit } from './schemas.ts'
import type { UserMail } from './service.ts'

/** Mail of users and programs, and the log of it. */
export function userMailRoutes(app: HttpServer, mail: UserMail, bodyLimit: number): void {
  app.post(
    '/api/email/send',
    {
      config: { guard: 'bearer', operation: 'mail.sendOwn', programs: 'email:send' },
      schema: sendSchema,
      bodyLimit,
    },
    async (request, reply) => reply.send(await mail.send(request.body, userOf(request))),
  )
  app.get(
    '/api/admin/email/sent',
    { config: { guard: 'admin', operation: 'mail.listSent' }, schema: listSchema },
    async (request, reply) => {
      const { user_id: user, limit, offset } = request.query
      const userId = user === undefined ? undefined : readUuid('user_id filter', user)
      return reply.send(await mail.list(userId, { limit: sentLimit.read(limit), offset: readOffset(offset) }))
    },
  )
}
