import { randomBytes } from 'node:crypto'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import { type Answered, component, refusedWith, textForm, timestamp, uuid } from '../../../../http/schemas.ts'
import { isStorableText } from '../../../../lib/storable-text.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { describeAccount } from '../account-functions.ts'
import type { AccountContext } from '../context.ts'
import { requireText, text } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { signAccessToken } from '../sessions/access-token.ts'
import { claimsOf } from '../sign-in.ts'
import { lockUser } from '../users.ts'
import { AdminUser, getListedUser } from './listed-user.ts'
import { administration, userParams } from './user-id.ts'

/** Maximum length of an impersonation: long enough to examine a complaint, short enough to forget about. */
const mostSeconds = 15 * 60
const actor = 'admin'
const mostListed = 1000

const aal = Type.Union([Type.Literal('aal1'), Type.Literal('aal2')])

/** Session in which an administrator acts as a user. */
const Impersonation = component(
  'Impersonation',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    userId: Type.String({ format: 'uuid' }),
    email: Type.String({ description: 'Email of the user. Empty if the user has none.' }),
    impersonatedBy: Type.String(),
    reason: Type.String(),
    aal,
    createdAt: timestamp,
    expiresAt: timestamp,
  }),
)
type Impersonation = Answered<typeof Impersonation>

/**
 * Starts a session in which an administrator acts as the user. It has no refresh token, is marked in its row
 * and in its access token, and ends with the administrator's own session.
 */
export const impersonate = operation({
  ...administration,
  id: 'users.impersonate',
  permission: 'owner',
  method: 'POST',
  path: '/api/admin/users/:id/impersonate',
  summary: 'Act as a user for fifteen minutes',
  description:
    'The token gives access to data and files as the user would see them, never to the account. It cannot be ' +
    'refreshed. It has the claim `act` (RFC 8693 §4.1).',
  params: userParams,
  body: Type.Object({
    reason: text('Reason, which the audit log stores.', 500, { pattern: textForm }),
    aal: Type.Optional(aal),
  }),
  success: created(
    Type.Object({
      id: Type.String({ format: 'uuid' }),
      token: Type.String({ description: 'Access token, a JWT. It is shown only once.' }),
      expiresAt: timestamp,
      user: AdminUser,
    }),
  ),
  async handle(context: AccountContext, { params, body, http, origin }) {
    const { aal = 'aal1' } = body
    const administratorSession = adminOf(http).sessionId
    const { database, clock, keys, functions } = context
    const reason = requireText(body.reason?.replaceAll('\0', '').trim(), 'reason')
    if (!isStorableText(reason)) throw httpErrors.invalidRequest('reason: expected Unicode text without NUL')
    const begunAt = clock.now()
    const { user, id, expiresAt, lifetimeSeconds, custom } = await functions.transaction(
      database,
      async (transaction) => {
        const found = await lockUser(transaction, params.id)
        if (found === undefined) throw accountErrors.userNotFound()
        if (found.disabled_at !== null) throw accountErrors.userDisabled()
        const lifetimeSeconds = await holdAdministrator(transaction, administratorSession)
        const expiresAt = new Date((Math.floor(begunAt.getTime() / 1000) + lifetimeSeconds) * 1000)
        const session = await transaction.one<{ id: string }>(sql`
        insert into basalt.sessions (user_id, aal, amr, user_agent, ip_address, expires_at, tokens_expire_at,
          impersonated_by, impersonation_reason, administrator_session)
        values (${params.id}, ${aal}, array['impersonation'], 'impersonation', ${origin.address},
          now() + make_interval(secs => ${lifetimeSeconds}::int), ${expiresAt.toISOString()}::timestamptz,
          ${actor}, ${reason}, ${administratorSession})
        returning id`)
        const detail = {
          reason,
          aal,
          sessionId: session.id,
          expiresAt: expiresAt.toISOString(),
          administratorSession,
        }
        await recordAudit(transaction, {
          actor,
          action: 'users.impersonate',
          target: params.id,
          detail,
          origin,
        })
        const custom = await functions.claims(transaction, describeAccount(found), origin.requestId)
        return { user: found, id: session.id, expiresAt, lifetimeSeconds, custom }
      },
      ['claims'],
    )
    const claims = {
      ...claimsOf(user),
      sid: id,
      aal,
      amr: ['impersonation'],
      act: { sub: actor },
      jti: randomBytes(16).toString('hex'),
      ...(custom === undefined ? {} : { custom_claims: custom }),
    }
    // One instant for all three, so that the token ends when the response and the audit row say.
    const at = { now: () => begunAt }
    const token = signAccessToken(claims, lifetimeSeconds, { secret: keys.access, clock: at })
    return { id, token, expiresAt, user: await getListedUser(database, params.id) }
  },
})

export const listImpersonations = operation({
  ...administration,
  id: 'impersonations.list',
  permission: 'users.read',
  method: 'GET',
  path: '/api/admin/impersonations',
  summary: 'List active impersonations, the newest first',
  success: ok(Type.Object({ items: Type.Array(Impersonation) })),
  async handle({ database }: AccountContext) {
    const items = await database.many<Impersonation>(sql`
      select s.id, s.user_id as "userId", coalesce(u.email, '') as email, s.impersonated_by as "impersonatedBy",
        s.impersonation_reason as reason, s.aal, s.created_at as "createdAt", s.expires_at as "expiresAt"
      from basalt.sessions s join basalt.users u on u.id = s.user_id
      where s.impersonated_by is not null and s.expires_at > now()
      order by s.created_at desc, s.id limit ${mostListed}`)
    return { items }
  },
})

export const endImpersonation = operation({
  ...administration,
  id: 'impersonations.end',
  permission: 'users.act',
  method: 'DELETE',
  path: '/api/admin/impersonations/:id',
  summary: 'End an impersonation',
  params: Type.Object({ id: refusedWith({ invalid: accountErrors.impersonationNotFound }, uuid) }),
  success: noContent,
  async handle({ database, endedSessions }: AccountContext, { params: { id }, origin }) {
    await database.transaction(async (transaction) => {
      const ended = await transaction.maybeOne<{ user_id: string }>(sql`
        delete from basalt.sessions where id = ${id} and impersonated_by is not null and expires_at > now()
        returning user_id`)
      if (ended === undefined) throw accountErrors.impersonationNotFound()
      const detail = { sessionId: id }
      const target = ended.user_id
      await recordAudit(transaction, { actor, action: 'users.end_impersonation', target, detail, origin })
    })
    endedSessions.add(id)
  },
})

/**
 * Locks the administrator's session until the transaction ends. A concurrent sign-out either waits and ends
 * the new session, or comes first and makes this call fail.
 *
 * @returns how many seconds the impersonation may last
 */
async function holdAdministrator(transaction: Queryable, sessionId: string): Promise<number> {
  const held = await transaction.maybeOne<{ seconds: number }>(sql`
    select least(${mostSeconds}::int, extract(epoch from least(expires_at, idle_expires_at) - now())::int) as seconds
    from basalt.admin_sessions
    where id = ${sessionId} and least(expires_at, idle_expires_at) > now()
    for key share`)
  if (held === undefined) throw httpErrors.adminRequired()
  return held.seconds
}
