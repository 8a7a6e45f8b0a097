import { userOf } from '../../../../http/access/authentication.ts'
import { noContent, ok, operation } from '../../../../http/operation.ts'
import { checkedByHandler, refusedWith, requiredByHandler, uuid } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { lockUser } from '../users.ts'
import { refreshToken } from './refresh.ts'
import { readRefreshToken } from './refresh-token.ts'
import { endSession, endSessionsOf, findSessionOwner, listSessions, Session } from './sessions.ts'

export const logOut = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.logOut',
  method: 'POST',
  path: '/api/auth/logout',
  summary: 'End the session of a refresh token',
  description:
    'A replaced token also ends its session. The response does not reveal whether there was such a session.',
  body: Type.Object({ refreshToken }),
  success: noContent,
  async handle({ database, keys, endedSessions }: AccountContext, { body }) {
    const content = readRefreshToken(body.refreshToken, keys.refresh)
    if (content === undefined) return
    if (await endSession(database, content.sessionId)) endedSessions.add(content.sessionId)
  },
})

/** Members that every description below shares. */
const common = { guard: 'bearer', tag: 'accounts' } as const

export const listOwnSessions = operation({
  ...common,
  id: 'accounts.listSessions',
  method: 'GET',
  path: '/api/auth/sessions',
  summary: 'List sessions of the signed-in user',
  success: ok(Type.Array(Session)),
  handle({ database }: AccountContext, { http }) {
    const { userId, sessionId } = userOf(http)
    return listSessions(database, userId, sessionId)
  },
})

export const revokeSession = operation({
  ...common,
  id: 'accounts.revokeSession',
  method: 'DELETE',
  path: '/api/auth/sessions/:id',
  summary: 'End a session',
  params: Type.Object({ id: refusedWith({ invalid: accountErrors.invalidSessionId }, uuid) }),
  success: noContent,
  async handle({ database, endedSessions }: AccountContext, { params: { id }, http }) {
    const owner = await findSessionOwner(database, id)
    if (owner === undefined) throw accountErrors.sessionNotFound()
    if (owner !== userOf(http).userId) throw accountErrors.foreignSession()
    if (!(await endSession(database, id))) throw accountErrors.sessionNotFound()
    endedSessions.add(id)
  },
})

export const revokeOtherSessions = operation({
  ...common,
  id: 'accounts.revokeOtherSessions',
  method: 'DELETE',
  path: '/api/auth/sessions',
  summary: 'End all sessions but this one',
  query: Type.Object({
    all_except_current: requiredByHandler(checkedByHandler({ const: 'true' }, Type.Unknown())),
  }),
  success: noContent,
  async handle({ database, endedSessions }: AccountContext, { query, http }) {
    if (query.all_except_current !== 'true') throw accountErrors.allExceptCurrentRequired()
    const { userId, sessionId } = userOf(http)
    if (sessionId === undefined) throw accountErrors.noCurrentSession()
    const ended = await database.transaction(async (transaction) => {
      await lockUser(transaction, userId)
      return await endSessionsOf(transaction, userId, sessionId)
    })
    for (const id of ended) endedSessions.add(id)
  },
})
