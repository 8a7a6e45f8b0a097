import type { FastifyRequest } from 'fastify'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { type User, userColumns } from '../users.ts'

/** Grace period in which a replayed refresh token gets the same successor. */
const graceSeconds = 10
/** Number of rotations whose time is kept. A client makes fewer within the grace period. */
const rememberedRotations = 16

/** Client of a session, stored so that the user recognizes it. */
export interface Client {
  readonly userAgent: string
  readonly ipAddress: string
  /** Id of the request, for the log of functions. */
  readonly requestId: string
}

export function clientOf(request: FastifyRequest): Client {
  const userAgent = request.headers['user-agent'] ?? ''
  return { userAgent: userAgent.slice(0, 512), ipAddress: request.ip, requestId: request.id }
}

export interface SessionStart {
  readonly userId: string
  readonly aal: 'aal1' | 'aal2'
  readonly amr: readonly string[]
  readonly lifetimeSeconds: number
  /** Expiry of the first access token of the session. */
  readonly tokenExpiresAt: Date
  readonly client: Client
  /** Password hash that the sign-in was checked against. */
  readonly passwordHash?: string
}

/**
 * Selects the user unless the user is disabled or the password hash has changed since the check. A password
 * change ends sessions after it. The lock orders a concurrent insert before the change, or makes it fail.
 */
function signedIn(userId: string, passwordHash: string | null): Sql {
  return sql`(
    select id from basalt.users
    where id = ${userId} and disabled_at is null
      and (${passwordHash}::text is null or password_hash = ${passwordHash})
    for share
  ) as signed_in`
}

/**
 * Inserts a session. Returns undefined when the user is deleted or disabled, or the password has been
 * replaced since it was checked.
 */
export async function insertSession(
  database: Queryable,
  start: SessionStart,
): Promise<{ id: string } | undefined> {
  const { userId, aal, amr, lifetimeSeconds, tokenExpiresAt, client, passwordHash = null } = start
  return await database.maybeOne<{ id: string }>(sql`
    insert into basalt.sessions (user_id, aal, amr, user_agent, ip_address, expires_at, tokens_expire_at)
    select id, ${aal}, ${amr}::text[], ${client.userAgent}, ${client.ipAddress},
      now() + make_interval(secs => ${lifetimeSeconds}::int), ${tokenExpiresAt.toISOString()}::timestamptz
    from ${signedIn(userId, passwordHash)}
    returning id`)
}

export interface PendingStart {
  readonly userId: string
  /** First factor of the sign-in. */
  readonly method: string
  /** True if the factor proves the address of the user. */
  readonly provesEmail: boolean
  readonly lifetimeSeconds: number
  readonly passwordHash?: string
}

/** Inserts a sign-in that waits for the second factor, under the same conditions as a session. */
export async function insertPendingSignIn(
  database: Queryable,
  pending: PendingStart,
): Promise<{ id: string } | undefined> {
  const { userId, method, provesEmail, lifetimeSeconds, passwordHash = null } = pending
  return await database.maybeOne<{ id: string }>(sql`
    insert into basalt.pending_sign_ins (user_id, method, proves_email, expires_at)
    select id, ${method}, ${provesEmail}::bool, now() + make_interval(secs => ${lifetimeSeconds}::int)
    from ${signedIn(userId, passwordHash)}
    returning id`)
}

/**
 * Finds a pending sign-in with its user and first factor, and locks it. Ending the sign-in therefore also
 * ends the session that results from it.
 */
export async function findPendingSignIn(
  database: Queryable,
  { userId, pendingId }: { userId: string; pendingId: string },
): Promise<(User & { readonly method: string; readonly proves_email: boolean }) | undefined> {
  if (!isUuid(userId) || !isUuid(pendingId)) return undefined
  // The user is locked first. Ending a sign-in takes its locks in the same order.
  const user = await database.maybeOne<User>(sql`
    select ${userColumns} from basalt.users
    where id = ${userId} and disabled_at is null
    for share`)
  const pending = await database.maybeOne<{ method: string; proves_email: boolean }>(sql`
    select method, proves_email from basalt.pending_sign_ins
    where id = ${pendingId} and user_id = ${userId} and expires_at > now()
    for share`)
  return user === undefined || pending === undefined ? undefined : { ...user, ...pending }
}

/** Session with its user, as a refresh needs it. */
export interface RefreshedSession extends User {
  readonly session_id: string
  readonly generation: number
  readonly aal: 'aal1' | 'aal2'
  readonly amr: string[]
}

/** Parameters by which a refresh prolongs a session. */
export interface Renewal {
  readonly lifetimeSeconds: number
  /** Expiry of the new access token. */
  readonly tokenExpiresAt: Date
  /** True if users with an unverified address are rejected. */
  readonly requiresVerifiedEmail: boolean
}

/** Returns the time of the rotation that replaced a generation, or null when it is no longer kept. */
function rotationOf(generation: number) {
  return sql`s.rotations[cardinality(s.rotations) - (s.generation - ${generation}::int) + 1]`
}

/** Builds the condition that the generation of a session `s` is current, or was replaced within the grace period. */
function isRenewable(generation: number) {
  return sql`(s.generation = ${generation}::int
    or s.generation > ${generation}::int
      and ${rotationOf(generation)} > now() - make_interval(secs => ${sql.integer(graceSeconds)}))`
}

/** Refresh of a session at one of its generations, by a client. */
export interface Rotation {
  readonly sessionId: string
  readonly generation: number
  readonly client: Pick<Client, 'userAgent' | 'ipAddress'>
}

const refreshedColumns = sql`
  u.id, u.email, u.email_verified_at, u.phone, u.password_hash, u.is_anonymous, u.linked_at, u.disabled_at,
  u.app_metadata, u.created_at, u.updated_at, s.id as session_id, s.generation, s.aal, s.amr`

/** Builds the condition under which a user `u` may refresh. */
function isAdmitted({ requiresVerifiedEmail }: Pick<Renewal, 'requiresVerifiedEmail'>) {
  return sql`u.disabled_at is null
    and not (${requiresVerifiedEmail}::bool and u.email is not null and u.email_verified_at is null)`
}

const rotationsWithNow = sql`
  (s.rotations || now())[greatest(1, cardinality(s.rotations) + 2 - ${sql.integer(rememberedRotations)}):]`

/**
 * Rotates all sessions that are at their generation, with one commit, and returns only those. It skips
 * sessions locked by another transaction, so that no refresh waits for another user's.
 */
export async function rotateSessions(
  database: Queryable,
  rotations: readonly Rotation[],
  renewal: Renewal,
): Promise<RefreshedSession[]> {
  const { lifetimeSeconds, tokenExpiresAt } = renewal
  return await database.many<RefreshedSession>(
    sql.prepared(sql`
      with due as materialized (
        select s.id, s.generation, w.user_agent, w.ip_address
        from unnest(
          ${rotations.map(({ sessionId }) => sessionId)}::uuid[],
          ${rotations.map(({ generation }) => generation)}::int[],
          ${rotations.map(({ client }) => client.userAgent)}::text[],
          ${rotations.map(({ client }) => client.ipAddress)}::text[]
        ) as w (id, generation, user_agent, ip_address)
        join basalt.sessions s on s.id = w.id and s.generation = w.generation and s.expires_at > now()
        for no key update of s skip locked
      )
      update basalt.sessions s set
        generation = s.generation + 1,
        rotations = ${rotationsWithNow},
        last_active_at = now(),
        expires_at = now() + make_interval(secs => ${lifetimeSeconds}::int),
        tokens_expire_at = greatest(s.tokens_expire_at, ${tokenExpiresAt.toISOString()}::timestamptz),
        user_agent = due.user_agent,
        ip_address = due.ip_address
      from due, basalt.users u
      where s.id = due.id and s.generation = due.generation and u.id = s.user_id and ${isAdmitted(renewal)}
      returning ${refreshedColumns}`),
  )
}

/**
 * Rotates a session that is at this generation. Within the grace period of a replaced generation, returns the
 * session unchanged. Returns undefined for any other generation. One of several concurrent refreshes rotates.
 * The others wait for its row lock, and PostgreSQL evaluates the statement again on the updated row
 * (PostgreSQL, Read Committed Isolation Level).
 */
export async function renewSession(
  database: Queryable,
  { sessionId, generation, client }: Rotation,
  renewal: Renewal,
): Promise<RefreshedSession | undefined> {
  const rotates = sql`s.generation = ${generation}::int`
  const { lifetimeSeconds, tokenExpiresAt } = renewal
  return await database.maybeOne<RefreshedSession>(sql`
    update basalt.sessions s set
      generation = case when ${rotates} then s.generation + 1 else s.generation end,
      rotations = case when ${rotates} then ${rotationsWithNow} else s.rotations end,
      last_active_at = case when ${rotates} then now() else s.last_active_at end,
      expires_at = case when ${rotates}
        then now() + make_interval(secs => ${lifetimeSeconds}::int) else s.expires_at end,
      tokens_expire_at = greatest(s.tokens_expire_at, ${tokenExpiresAt.toISOString()}::timestamptz),
      user_agent = case when ${rotates} then ${client.userAgent}::text else s.user_agent end,
      ip_address = case when ${rotates} then ${client.ipAddress}::text else s.ip_address end
    from basalt.users u
    where s.id = ${sessionId}::uuid and s.expires_at > now() and u.id = s.user_id and ${isAdmitted(renewal)}
      and ${isRenewable(generation)}
    returning ${refreshedColumns}`)
}

/** Returns the user of a session that {@link renewSession} would renew. */
export async function findSessionUser(
  database: Queryable,
  { sessionId, generation }: Pick<Rotation, 'sessionId' | 'generation'>,
  admission: Pick<Renewal, 'requiresVerifiedEmail'>,
): Promise<User | undefined> {
  return await database.maybeOne<User>(sql`
    select ${userColumns} from basalt.users u
    where ${isAdmitted(admission)} and id = (
      select s.user_id from basalt.sessions s
      where s.id = ${sessionId}::uuid and s.expires_at > now() and ${isRenewable(generation)})`)
}

/** Returns the address of the session's user if it still has to be verified. */
export async function findUnverifiedEmail(
  database: Queryable,
  sessionId: string,
): Promise<string | undefined> {
  const row = await database.maybeOne<{ email: string }>(sql`
    select u.email from basalt.sessions s join basalt.users u on u.id = s.user_id
    where s.id = ${sessionId} and u.email is not null and u.email_verified_at is null`)
  return row?.email
}

/** Ends the session when an old token of it is replayed: two parties have it, and one of them stole it. */
export async function endReplayedSession(
  database: Queryable,
  sessionId: string,
  generation: number,
): Promise<boolean> {
  const ended = await database.count(sql`
    delete from basalt.sessions s where s.id = ${sessionId} and s.generation > ${generation}
      and coalesce(${rotationOf(generation)} <= now() - make_interval(secs => ${graceSeconds}::int), true)`)
  return ended > 0
}

/** Session in responses to its user. */
export const Session = component(
  'Session',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user_agent: Type.String(),
    ip_address: Type.String(),
    created_at: timestamp,
    last_active_at: timestamp,
    current: Type.Boolean({ description: 'True for the session of this request.' }),
    impersonated_by: Type.Optional(
      Type.String({ description: 'Administrator who acts as the user in this session.' }),
    ),
  }),
)
export type Session = Answered<typeof Session>

/** Lists the active sessions, the latest activity first. */
export async function listSessions(
  database: Queryable,
  userId: string,
  currentId?: string,
): Promise<Session[]> {
  if (!isUuid(userId)) return []
  const sessions = await database.many<
    Omit<Session, 'impersonated_by'> & { readonly impersonated_by: string | null }
  >(sql`
    select id, user_agent, ip_address, created_at, last_active_at, impersonated_by,
      id::text is not distinct from ${currentId ?? null}::text as current
    from basalt.sessions
    where user_id = ${userId} and expires_at > now()
    order by last_active_at desc, id`)
  return sessions.map((session) => ({ ...session, impersonated_by: session.impersonated_by ?? undefined }))
}

/** Returns the owner of a session. */
export async function findSessionOwner(database: Queryable, id: string): Promise<string | undefined> {
  const row = await database.maybeOne<{ user_id: string }>(
    sql`select user_id from basalt.sessions where id = ${id} and expires_at > now()`,
  )
  return row?.user_id
}

/** Ends a session, with everything that was created in it. Expired sessions end the same way. */
export async function endSession(database: Queryable, id: string): Promise<boolean> {
  const ended = await database.count(sql`delete from basalt.sessions where id = ${id}`)
  await database.one(sql`select basalt.end_derived_of_sessions(array[${id}::uuid]) is null as done`)
  return ended > 0
}

/**
 * Ends all sessions of a user, or all but one, with everything created in them and in earlier ones. Pending
 * sign-ins end too.
 *
 * @returns the ids of the ended sessions
 */
export async function endSessionsOf(
  database: Queryable,
  userId: string,
  exceptId?: string,
): Promise<string[]> {
  if (!isUuid(userId)) return []
  await database.count(sql`delete from basalt.pending_sign_ins where user_id = ${userId}`)
  const ended = await database.many<{ id: string }>(sql`
    delete from basalt.sessions
    where user_id = ${userId} and (${exceptId ?? null}::text is null or id::text <> ${exceptId ?? null}::text)
    returning id`)
  const spared = exceptId !== undefined && isUuid(exceptId) ? exceptId : null
  await database.one(sql`select basalt.end_derived_of_user(${userId}::uuid, ${spared}::uuid) is null as done`)
  return ended.map(({ id }) => id)
}
