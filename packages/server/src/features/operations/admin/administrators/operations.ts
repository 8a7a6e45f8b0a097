import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { administratorRoles } from '../../../../http/access/permissions.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { choice, component, nullable, refusedWith, timestamp, uuid } from '../../../../http/schemas.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../audit/index.ts'
import type { AdminContext } from '../context.ts'
import { adminErrors } from '../errors.ts'
import { clearLostRole, deleteIdentities } from '../provider/identities.ts'
import { requirePasswordSignIn } from '../sign-in.ts'
import {
  Administrator,
  deleteAdministrator,
  deletePasswordCodes,
  listAdministrators,
  lockAdministrator,
  lockOwners,
  updateAdministrator,
} from './administrator.ts'
import {
  addAdministrator,
  createInvitation,
  type Invitation,
  passwordLink,
  requireAddress,
} from './invitation.ts'
import { mailInvitation } from './mail.ts'

const common = { guard: 'admin', permission: 'owner', tag: 'administrators' } as const
const collection = '/api/admin/administrators'
const item = `${collection}/:id`
const params = Type.Object({ id: refusedWith({ invalid: adminErrors.administratorNotFound }, uuid) })

const email = Type.String({ minLength: 1, maxLength: 320, description: 'Address, with which they sign in.' })
const role = choice(administratorRoles, { description: 'Rights: see the guide "A team".' })

const AdministratorInvitation = component(
  'AdministratorInvitation',
  Type.Object({
    code: Type.String({ description: 'Code for `POST /api/admin/auth/password`. It is shown only once.' }),
    url: Type.Union([Type.String(), Type.Null()], {
      description: 'Page of the dashboard that sets the password; null if the dashboard is not served.',
    }),
    expiresAt: timestamp,
  }),
)

const list = operation({
  ...common,
  id: 'administrators.list',
  method: 'GET',
  path: collection,
  summary: 'List administrators',
  success: ok(Type.Object({ items: Type.Array(Administrator) })),
  handle: async ({ database }: AdminContext) => ({ items: await listAdministrators(database) }),
})

const invite = operation({
  ...common,
  id: 'administrators.invite',
  stepUp: 'always',
  method: 'POST',
  path: collection,
  summary: 'Invite an administrator',
  description:
    'The link is valid for seven days and works once. It is also sent by mail, and owners with an address are notified.',
  body: Type.Object({ email, role }),
  success: created(
    Type.Object({
      administrator: Administrator,
      invitation: nullable(AdministratorInvitation, {
        description: 'null while `admin.password_sign_in` is off: they sign in with the provider.',
      }),
    }),
  ),
  async handle(context: AdminContext, { body, origin }) {
    const { administrator, invitation } = await addAdministrator(
      context,
      body,
      by(origin),
      (transaction, added) => mailInvitation(context.queue, transaction, added),
    )
    context.queue.wake()
    return { administrator, invitation: invitation && withLink(context, invitation) }
  },
})

const reinvite = operation({
  ...common,
  id: 'administrators.reinvite',
  stepUp: 'always',
  method: 'POST',
  path: `${item}/invitation`,
  summary: 'Create a new link with which an administrator sets a password',
  description: 'Earlier links end. The present password stays valid until a new one is set.',
  params,
  success: created(AdministratorInvitation),
  async handle(context: AdminContext, { params: { id }, origin }) {
    requirePasswordSignIn(context)
    return await context.database.transaction(async (transaction) => {
      const found = await lockAdministrator(transaction, id)
      if (found === undefined) throw adminErrors.administratorNotFound()
      if (found.isDisabled) throw adminErrors.administratorDisabled()
      // Only the last link works, so that a lost one ends.
      await deletePasswordCodes(transaction, id)
      const invitation = await createInvitation(transaction, id)
      await audit(transaction, 'administrators.reinvite', id, origin, { email: found.email })
      return withLink(context, invitation)
    })
  },
})

const change = operation({
  ...common,
  id: 'administrators.update',
  stepUp: 'always',
  method: 'PATCH',
  path: item,
  summary: 'Change the address or the role of an administrator, disable or enable them',
  description: 'Disabling ends their sessions. The last owner keeps role and access.',
  params,
  body: Type.Object({
    email: Type.Optional(email),
    role: Type.Optional(role),
    isDisabled: Type.Optional(Type.Boolean()),
  }),
  success: ok(Administrator),
  async handle(context: AdminContext, { params: { id }, body, origin }) {
    const { database, tokens } = context
    const address = body.email === undefined ? undefined : requireAddress(body.email)
    const changed = await database.transaction(async (transaction) => {
      if (body.isDisabled !== undefined) await clearLostRole(transaction, id)
      const isOwner = body.role === undefined || body.role === 'owner'
      if (!isOwner || body.isDisabled === true) await requireOtherOwner(context, transaction, id)
      const updated = await updateAdministrator(transaction, id, { ...body, email: address }).catch(
        (error) => {
          throw codeOf(error) === '23505' ? adminErrors.administratorExists(address ?? '') : error
        },
      )
      if (updated === undefined) throw adminErrors.administratorNotFound()
      if (address !== undefined || body.isDisabled === true) await deletePasswordCodes(transaction, id)
      await audit(transaction, 'administrators.update', id, origin, { ...body, email: updated.email })
      return updated
    })
    tokens.invalidateAll()
    return changed
  },
})

const remove = operation({
  ...common,
  id: 'administrators.remove',
  stepUp: 'always',
  method: 'DELETE',
  path: item,
  summary: 'Remove an administrator, which ends their sessions and tokens',
  params,
  success: noContent,
  async handle(context: AdminContext, { params: { id }, origin }) {
    const { database, tokens } = context
    await database.transaction(async (transaction) => {
      await requireOtherOwner(context, transaction, id)
      const removed = await deleteAdministrator(transaction, id)
      if (removed === undefined) throw adminErrors.administratorNotFound()
      await audit(transaction, 'administrators.remove', id, origin, { email: removed.email })
    })
    tokens.invalidateAll()
  },
})

const unbind = operation({
  ...common,
  id: 'administrators.removeIdentity',
  stepUp: 'always',
  method: 'DELETE',
  path: `${item}/identity`,
  summary: 'Remove the account of an administrator at the OpenID provider',
  description: 'Their sessions end. Their next sign-in is matched by its verified address.',
  params,
  success: noContent,
  async handle(context: AdminContext, { params: { id }, origin }) {
    await context.database.transaction(async (transaction) => {
      if ((await lockAdministrator(transaction, id)) === undefined) throw adminErrors.administratorNotFound()
      if ((await deleteIdentities(transaction, id)) === 0) throw adminErrors.noProviderIdentity()
      await transaction.count(sql`delete from basalt.admin_sessions where administrator_id = ${id}`)
      await audit(transaction, 'administrators.remove_identity', id, origin, {})
    })
    context.tokens.invalidateAll()
  },
})

/** Operations of owners on administrators. */
export const administratorOperations = [list, invite, reinvite, change, remove, unbind]

/** Rejects a change after which no owner could sign in. @throws AppError last_owner */
async function requireOtherOwner(
  { methods }: AdminContext,
  transaction: Queryable,
  id: string,
): Promise<void> {
  const owners = await lockOwners(transaction, methods)
  if (owners.some((owner) => owner !== id)) return
  const found = await lockAdministrator(transaction, id)
  if (found?.role === 'owner' && !found.isDisabled) throw adminErrors.lastOwner()
}

function withLink({ dashboardUrl }: AdminContext, invitation: Invitation) {
  return { ...invitation, url: passwordLink(dashboardUrl(), invitation.code) }
}

const by = (origin: RequestOrigin) => ({ actor: 'admin', origin })

async function audit(
  transaction: Queryable,
  action: string,
  target: string,
  origin: RequestOrigin,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAudit(transaction, { ...by(origin), action, target, detail })
}
