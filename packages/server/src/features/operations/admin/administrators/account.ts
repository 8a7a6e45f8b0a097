import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { requirePermission } from '../../../../http/access/grants.ts'
import type { AdminIdentity } from '../../../../http/access/identity.ts'
import { administratorRoles, lesserRole } from '../../../../http/access/permissions.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import {
  type Answered,
  choice,
  component,
  nullable,
  refusedWith,
  timestamp,
  uuid,
} from '../../../../http/schemas.ts'
import { isAddressRange } from '../../../../lib/addresses.ts'
import { createToken, hashToken, isToken } from '../../../../lib/tokens.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../audit/index.ts'
import { type AttemptLimit, requireAllowed } from '../../throttle/index.ts'
import type { AdminContext } from '../context.ts'
import { adminErrors } from '../errors.ts'
import { adminTokenPrefix, hashNamedToken } from '../session.ts'
import { failSignIn, limitsOf, requireAttempts, requirePasswordSignIn } from '../sign-in.ts'
import { consumePasswordCode, hasPasswordCode, lockAdministrator, setPassword } from './administrator.ts'
import { passwordCodePrefix, requireAddress } from './invitation.ts'
import { mailForgottenPassword } from './mail.ts'

/** Maximum life of a token, one year. */
const longestTokenSeconds = 366 * 24 * 60 * 60
const mostTokens = 100

const newPassword = refusedWith(
  { missing: adminErrors.invalidNewPassword, invalid: adminErrors.invalidNewPassword },
  Type.String({ minLength: 8, maxLength: 1024 }),
)

const setByCode = operation({
  id: 'administrators.setPassword',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth/password',
  tag: 'administrators',
  summary: 'Set the password of an administrator by the code of a link',
  description:
    'The code is that of an invitation or of a forgotten password. Other sessions of the administrator end.',
  body: Type.Object({ code: Type.String({ maxLength: 200 }), password: newPassword }),
  success: noContent,
  async handle(context: AdminContext, { body: { code, password }, origin }) {
    requirePasswordSignIn(context)
    const attempt = { deps: context, limits: limitsOf(origin) }
    await requireAttempts(attempt)
    if (!isToken(passwordCodePrefix, code)) {
      return await failSignIn(attempt, adminErrors.invalidPasswordCode())
    }
    if (!(await hasPasswordCode(context.database, hashToken(code)))) {
      return await failSignIn(attempt, adminErrors.invalidPasswordCode())
    }
    await refuseBreached(context, password)
    const hash = await context.passwords.hash(password)
    const isSet = await context.database.transaction(async (transaction) => {
      const found = await consumePasswordCode(transaction, hashToken(code))
      if (found === undefined) return false
      await setPassword(transaction, found.id, hash)
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'administrators.set_password',
        target: found.id,
        origin: { ...origin, administrator: found.email ?? undefined },
      })
      return true
    })
    if (!isSet) return await failSignIn(attempt, adminErrors.invalidPasswordCode())
    context.tokens.invalidateAll()
  },
})

/** Rejects a password of a known data breach. @throws AppError breached_password */
async function refuseBreached({ breachedPasswords }: AdminContext, password: string): Promise<void> {
  if (await breachedPasswords.includes(password)) throw httpErrors.breachedPassword('password')
}

/** Limit of requested mails per network address. */
const forgottenPasswords: AttemptLimit = {
  name: 'admin.forgotten_password',
  attempts: 10,
  windowSeconds: 60 * 60,
}

const forgot = operation({
  id: 'administrators.forgotPassword',
  guard: 'public',
  method: 'POST',
  path: '/api/admin/auth/forgot',
  tag: 'administrators',
  summary: 'Request a link for a new password by mail',
  description: 'The response is the same for an unknown address.',
  body: Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }),
  success: { ...noContent, status: 202 },
  async handle(context: AdminContext, { body: { email }, origin }) {
    requirePasswordSignIn(context)
    const { database, queue, throttle } = context
    const address = requireAddress(email)
    requireAllowed(await throttle.attempt(forgottenPasswords, origin.address))
    await mailForgottenPassword(queue, database, address)
    queue.wake()
  },
})

const changePassword = operation({
  id: 'administrators.changePassword',
  guard: 'admin',
  permission: 'account',
  method: 'PUT',
  path: '/api/admin/account/password',
  tag: 'administrators',
  summary: 'Change the password of this administrator',
  description: 'Other sessions end. Tokens of programs stay valid.',
  body: Type.Object({ currentPassword: Type.String({ maxLength: 1024 }), password: newPassword }),
  success: noContent,
  async handle(context: AdminContext, { body: { currentPassword, password }, http, origin }) {
    requirePasswordSignIn(context)
    const { administratorId, sessionId } = ownerOf(adminOf(http))
    const { database, passwords, tokens } = context
    const attempt = { deps: context, limits: limitsOf(origin, administratorId) }
    await requireAttempts(attempt)
    const stored = await database.maybeOne<{ password_hash: string }>(
      sql`select password_hash from basalt.administrators where id = ${administratorId}`,
    )
    if (!(await passwords.verify(currentPassword, stored?.password_hash))) {
      return await failSignIn(attempt, adminErrors.invalidPassword())
    }
    await refuseBreached(context, password)
    const hash = await passwords.hash(password)
    await database.transaction(async (transaction) => {
      await setPassword(transaction, administratorId, hash, sessionId)
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'administrators.change_password',
        target: administratorId,
        origin,
      })
    })
    tokens.invalidateAll()
  },
})

/** Session or token of an administrator. */
const AdministratorSession = component(
  'AdministratorSession',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: nullable(Type.String(), { description: 'Name of a token; null for a sign-in.' }),
    passesStepUp: Type.Boolean({ description: 'True for a token that needs no fresh second factor.' }),
    role: nullable(choice(administratorRoles), { description: 'null for the role of the administrator.' }),
    allowedAddresses: nullable(Type.Array(Type.String()), { description: 'null for all addresses.' }),
    address: nullable(Type.String(), { description: 'Network address of the sign-in.' }),
    userAgent: nullable(Type.String()),
    isCurrent: Type.Boolean(),
    createdAt: timestamp,
    lastUsedAt: nullable(timestamp, { description: 'Last use of a token, to the minute.' }),
    expiresAt: timestamp,
  }),
)
type AdministratorSession = Answered<typeof AdministratorSession>

const sessions = '/api/admin/administrators/:id/sessions'
const idOrMe = Type.String({ description: 'Id of an administrator, or `me`.' })
const common = { guard: 'admin', permission: 'account', tag: 'administrators' } as const

const listSessions = operation({
  ...common,
  id: 'administrators.listSessions',
  method: 'GET',
  path: sessions,
  summary: 'List the sessions and tokens of an administrator',
  description: 'Owners list those of every administrator, others only their own.',
  params: Type.Object({ id: idOrMe }),
  success: ok(Type.Object({ items: Type.Array(AdministratorSession) })),
  async handle({ database }: AdminContext, { params, http }) {
    const identity = adminOf(http)
    const id = subjectOf(identity, params.id)
    const items = await database.many<AdministratorSession>(sql`
      select ${columns(identity.sessionId)} from basalt.admin_sessions
      where administrator_id = ${id} and least(expires_at, idle_expires_at) > now()
      order by created_at desc, id`)
    return { items }
  },
})

const endOne = operation({
  ...common,
  id: 'administrators.endSession',
  method: 'DELETE',
  path: `${sessions}/:sessionId`,
  summary: 'End a session or a token',
  params: Type.Object({
    id: idOrMe,
    sessionId: refusedWith({ invalid: adminErrors.adminSessionNotFound }, uuid),
  }),
  success: noContent,
  async handle({ database, tokens }: AdminContext, { params: { id: given, sessionId }, http, origin }) {
    const id = subjectOf(adminOf(http), given)
    await database.transaction(async (transaction) => {
      const ended = await transaction.count(sql`
        delete from basalt.admin_sessions where id = ${sessionId} and administrator_id = ${id}`)
      if (ended === 0) throw adminErrors.adminSessionNotFound()
      const detail = { sessionId }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'administrators.end_session',
        target: id,
        detail,
        origin,
      })
    })
    tokens.invalidate(sessionId)
  },
})

const createOwnToken = operation({
  ...common,
  id: 'administrators.createToken',
  stepUp: 'always',
  method: 'POST',
  path: '/api/admin/account/tokens',
  summary: 'Create a token for a program, such as a build server',
  description: 'It acts as its administrator with at most their role, and ends with them.',
  body: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 100 }),
    role: Type.Optional(
      choice(administratorRoles, { description: "At most the caller's own role, which is the default." }),
    ),
    expiresInDays: Type.Integer({ minimum: 1, maximum: 365 }),
    passesStepUp: Type.Optional(
      Type.Boolean({
        description:
          'True if the token may run operations that require a fresh second factor of its administrator. Default: false.',
      }),
    ),
    allowedAddresses: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 50,
        description: 'IP addresses or CIDR ranges. Default: all addresses.',
      }),
    ),
  }),
  success: created(Type.Object({ token: Type.String(), session: AdministratorSession })),
  async handle({ database }: AdminContext, { body, http, origin }, reply) {
    const identity = adminOf(http)
    const { administratorId, role: own, sessionId } = ownerOf(identity)
    const role = body.role ?? own
    const { isEnrolled, hasIdentity } = identity.secondFactor
    if (body.passesStepUp === true && !isEnrolled && !hasIdentity) {
      throw adminErrors.invalidTokenRequest('passesStepUp: expected a second factor of the administrator')
    }
    if (lesserRole(role, own) !== role) throw adminErrors.invalidTokenRequest(`role: expected at most ${own}`)
    const wrong = body.allowedAddresses?.find((range) => !isAddressRange(range))
    if (wrong !== undefined) {
      throw adminErrors.invalidTokenRequest(`allowedAddresses: "${wrong}" is not an IP address or CIDR range`)
    }
    const name = body.name.trim()
    if (name === '' || name.includes('\0')) throw adminErrors.invalidTokenRequest('name: expected a text')
    const token = createToken(adminTokenPrefix)
    const session = await database.transaction(async (transaction) => {
      await lockAdministrator(transaction, administratorId)
      await holdOwnSession(transaction, sessionId)
      const { count } = await transaction.one<{ count: number }>(sql`
        select count(*)::int as count from basalt.admin_sessions
        where administrator_id = ${administratorId} and name is not null`)
      if (count >= mostTokens) throw adminErrors.invalidTokenRequest(`name: at most ${mostTokens} tokens`)
      const created = await transaction.one<AdministratorSession>(sql`
        insert into basalt.admin_sessions (token_hash, administrator_id, name, role, allowed_addresses, passes_step_up,
          is_multi_factor, expires_at)
        values (${hashNamedToken(token)}, ${administratorId}, ${name}, ${role}, ${body.allowedAddresses ?? null}::text[],
          ${body.passesStepUp ?? false},
          (select is_multi_factor from basalt.admin_sessions where id = ${sessionId}),
          now() + least(make_interval(days => ${body.expiresInDays}::int),
            make_interval(secs => ${longestTokenSeconds}::int)))
        returning ${columns(sessionId)}`)
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'administrators.create_token',
        target: administratorId,
        detail: { sessionId: created.id, name, role, passesStepUp: body.passesStepUp ?? false },
        origin,
      })
      return created
    })
    void reply.header('cache-control', 'no-store')
    return { token, session }
  },
})

/** Operations of administrators on their own account. */
export const accountOperations = [setByCode, forgot, changePassword, listSessions, endOne, createOwnToken]

const columns = (current: string) => sql`
  id, name, passes_step_up as "passesStepUp", role, allowed_addresses as "allowedAddresses", address, user_agent as "userAgent",
  id = ${current} as "isCurrent", created_at as "createdAt", last_used_at as "lastUsedAt",
  least(expires_at, idle_expires_at) as "expiresAt"`

/** Returns the identity of an administrator with an account. @throws AppError no_administrator */
function ownerOf(identity: AdminIdentity) {
  const { administratorId } = identity
  if (administratorId === undefined) throw adminErrors.noAdministrator()
  return { ...identity, administratorId }
}

/**
 * Returns the id of the administrator in the path.
 *
 * @throws AppError insufficient_role for another one, except to owners; no_administrator, administrator_not_found
 */
function subjectOf(identity: AdminIdentity, given: string): string {
  if (given === 'me' || given === identity.administratorId) return ownerOf(identity).administratorId
  requirePermission(identity, 'owner')
  if (!isUuid(given)) throw adminErrors.administratorNotFound()
  return given
}

/** Rejects tokens, which create no others, and locks the session. @throws AppError token_of_token */
async function holdOwnSession(transaction: Queryable, sessionId: string): Promise<void> {
  const held = await transaction.count(
    sql`select from basalt.admin_sessions where id = ${sessionId} and name is null for key share`,
  )
  if (held === 0) throw adminErrors.tokenOfToken()
}
