import { sql } from '../../../database/sql.ts'
import type { RequestOrigin } from '../../../http/request-origin.ts'
import { originOf } from '../../../http/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import * as schemas from './schemas.ts'
import { describeSessions } from './sessions/session-use.ts'
import { endSessionsOf } from './sessions/sessions.ts'
import { deleteUser, describeUser, findUserById, lockUser, type User } from './users.ts'

/** A user as the administrator sees it. */
interface ListedUser extends User {
  readonly last_active_at: Date | null
  readonly total: string
}

/** The administration of users. */
export function adminUserRoutes(app: HttpServer, context: AccountContext): void {
  const { database, endedSessions } = context

  async function require(id: string): Promise<User> {
    const user = await findUserById(database, id)
    if (user === undefined) throw accountErrors.userNotFound()
    return user
  }

  async function describe(id: string) {
    const [user] = await queryUsers(context, { id, limit: 1, offset: 0 })
    if (user === undefined) throw accountErrors.userNotFound()
    return describeListed(user)
  }

  /** Changes the user and ends all sessions, with the audit row, in one transaction. */
  async function changeAndEndSessions(
    id: string,
    origin: RequestOrigin,
    action: string,
    change: (transaction: Parameters<typeof endSessionsOf>[0]) => Promise<unknown>,
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
    async (request, reply) => {
      const { page = 1, perPage = 20, search } = request.query
      const found = await queryUsers(context, {
        limit: perPage,
        offset: (page - 1) * perPage,
        ...(search === undefined || search.trim() === '' ? {} : { search: search.trim() }),
      })
      const totalItems =
        found[0] === undefined ? await countUsers(context, search?.trim()) : Number(found[0].total)
      const totalPages = Math.ceil(totalItems / perPage)
      return reply.send({ items: found.map(describeListed), page, perPage, totalItems, totalPages })
    },
  )
  app.get(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.get' }, schema: schemas.getUserSchema },
    async (request, reply) => reply.send(await describe(request.params.id)),
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
  app.delete(
    '/api/admin/users/:id',
    { config: { guard: 'admin', operation: 'users.delete' }, schema: schemas.deleteUserSchema },
    async (request, reply) => {
      const { id } = request.params
      await require(id)
      const ended = await database.transaction(async (transaction) => {
        await lockUser(transaction, id)
        const sessions = await endSessionsOf(transaction, id)
        if (!(await deleteUser(transaction, id))) throw accountErrors.userNotFound()
        const origin = originOf(request)
        await recordAudit(transaction, { actor: 'admin', action: 'users.delete', target: id, origin })
        return sessions
      })
      for (const session of ended) endedSessions.add(session)
      return reply.code(204).send()
    },
  )
}

interface UserQuery {
  readonly id?: string
  readonly search?: string
  readonly limit: number
  readonly offset: number
}

function matches({ id, search }: Pick<UserQuery, 'id' | 'search'>) {
  if (id !== undefined) return isUuid(id) ? sql`u.id = ${id}` : sql`false`
  if (search === undefined || search === '') return sql`true`
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  return sql`(lower(u.email) like ${pattern} or u.phone like ${pattern} or u.id::text = ${search.toLowerCase()})`
}

async function queryUsers({ database }: AccountContext, query: UserQuery): Promise<ListedUser[]> {
  return await database.many<ListedUser>(sql`
    select u.*, count(*) over () as total,
      (select max(s.last_active_at) from basalt.sessions s where s.user_id = u.id) as last_active_at
    from basalt.users u where ${matches(query)}
    order by u.created_at desc, u.id limit ${query.limit} offset ${query.offset}`)
}

async function countUsers({ database }: AccountContext, search: string | undefined): Promise<number> {
  const { total } = await database.one<{ total: string }>(sql`
    select count(*) as total from basalt.users u where ${matches(search === undefined ? {} : { search })}`)
  return Number(total)
}

function describeListed(user: ListedUser) {
  return {
    ...describeUser(user),
    disabled: user.disabled_at !== null,
    lastActiveAt: user.last_active_at?.toISOString() ?? null,
  }
}
