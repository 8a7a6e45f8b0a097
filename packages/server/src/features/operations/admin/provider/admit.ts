import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import {
  type AdministratorRole,
  administratorRoles,
  lesserRole,
} from '../../../../http/access/permissions.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { AppError } from '../../../../lib/errors.ts'
import { recordAdminAction, recordAudit } from '../../audit/index.ts'
import { insertAdministrator, lockOwners, updateAdministrator } from '../administrators/administrator.ts'
import { mailAdded } from '../administrators/mail.ts'
import type { AdminContext, SignInProvider } from '../context.ts'
import { adminErrors } from '../errors.ts'
import type { SessionProof } from '../queries.ts'
import { hasSecondFactor } from '../second-factor/factors.ts'
import type { AdminSession } from '../session.ts'
import { type PendingSignIn, passFirstFactor } from '../sign-in.ts'
import {
  disableWithoutRole,
  findBound,
  findByAddress,
  insertIdentity,
  type KnownAdministrator,
  lockProviderSignIns,
  recordIdentityUse,
} from './identities.ts'

/** Person whom the provider has authenticated. */
export interface ProviderPerson extends Pick<SessionProof, 'isMultiFactor' | 'authenticatedAt'> {
  /** Id of the person at the provider. */
  readonly subject: string
  /** Normalized address; undefined unless the provider has verified it. */
  readonly email: string | undefined
  readonly groups: readonly string[]
}

interface ProviderLogin {
  readonly provider: SignInProvider
  readonly person: ProviderPerson
  readonly origin: RequestOrigin
}

/**
 * Returns the role of a person.
 *
 * @returns undefined if the person has none
 */
export function roleOf(
  { roles, defaultRole }: Pick<SignInProvider, 'roles' | 'defaultRole'>,
  groups: readonly string[],
): AdministratorRole | undefined {
  const found = groups.flatMap((group) => (Object.hasOwn(roles, group) ? (roles[group] ?? []) : []))
  return administratorRoles.find((role) => found.includes(role)) ?? defaultRole
}

/**
 * Signs in a person whom the provider has authenticated. The first time, the account is bound to the administrator with
 * its verified address, who is created if the person has a role. Later the role follows the groups.
 *
 * @returns the session, or a sign-in that waits for its second factor
 * @throws AppError unverified_admin_address, no_administrator_role, administrator_access_disabled, administrator_bound_elsewhere
 */
export async function admitPerson(
  context: AdminContext,
  login: ProviderLogin,
  userAgent: string | undefined,
): Promise<AdminSession | PendingSignIn> {
  const { person, origin } = login
  const outcome = await context.database.transaction(async (transaction) => {
    await lockProviderSignIns(transaction)
    // Every use case locks the owners first. Another order would deadlock.
    const owners = await lockOwners(transaction, context.methods)
    const found = await findOrBind(context, transaction, login)
    if (found instanceof AppError) return found
    const isLastOwner = found.role === 'owner' && owners.every((id) => id === found.id)
    const refusal = await followGroups(context, transaction, login, found, isLastOwner)
    if (refusal !== undefined) return refusal
    await recordIdentityUse(transaction, found.id, login.provider.issuer)
    const attempt = { keeper: 'browser', origin, userAgent } as const
    return await passFirstFactor(transaction, attempt, found.id, 'admin.sign_in_by_provider', person)
  })
  // The transaction of a refusal has committed, because it may have disabled the administrator.
  context.tokens.invalidateAll()
  context.queue.wake()
  if (outcome instanceof AppError) throw outcome
  return outcome
}

/** Finds the administrator of the account, or binds the account. @returns the refusal if there is none */
async function findOrBind(
  { queue }: AdminContext,
  transaction: Queryable,
  { provider, person, origin }: ProviderLogin,
): Promise<KnownAdministrator | AppError> {
  const { issuer } = provider
  const { subject, email } = person
  const bound = await findBound(transaction, { issuer, subject })
  if (bound !== undefined) return bound
  if (email === undefined) return adminErrors.unverifiedAdminAddress()
  const found = await findByAddress(transaction, { issuer, email })
  if (found?.subject != null) return adminErrors.administratorBoundElsewhere()
  if (found?.is_disabled === true) return adminErrors.administratorAccessDisabled()
  const role = roleOf(provider, person.groups)
  const isRoleNeeded = found === undefined || decidesRoles(provider)
  if (role === undefined && isRoleNeeded) return adminErrors.noAdministratorRole()
  const by = { ...origin, administrator: email }
  const administrator = found ?? (await create(transaction, email, role ?? 'viewer', by))
  if (found === undefined) await mailAdded(queue, transaction, administrator)
  await insertIdentity(transaction, { issuer, subject }, administrator.id)
  await recordAdminAction(transaction, 'administrators.bind_identity', administrator.id, by, {
    issuer,
    subject,
  })
  return administrator
}

async function create(
  transaction: Queryable,
  email: string,
  role: AdministratorRole,
  by: RequestOrigin,
): Promise<KnownAdministrator> {
  const created = await insertAdministrator(transaction, { email, role })
  // An invitation of the same address has committed since the search.
  if (created === undefined) throw adminErrors.administratorExists(email)
  await recordAdminAction(transaction, 'administrators.add_by_provider', created.id, by, { email, role })
  return { id: created.id, email, role, is_disabled: false, has_lost_role: false, subject: null }
}

/** Applies the groups to the administrator. @returns the refusal of a person without access */
async function followGroups(
  { log }: AdminContext,
  transaction: Queryable,
  { provider, person, origin }: ProviderLogin,
  { id, email, role: present, is_disabled, has_lost_role }: KnownAdministrator,
  isLastOwner: boolean,
): Promise<AppError | undefined> {
  const by = { ...origin, administrator: email ?? undefined }
  const record = (detail: Readonly<Record<string, unknown>>) =>
    recordAdminAction(transaction, 'administrators.follow_groups', id, by, { email, ...detail })
  if (is_disabled && !has_lost_role) return adminErrors.administratorAccessDisabled()
  if (!decidesRoles(provider)) return is_disabled ? adminErrors.administratorAccessDisabled() : undefined
  const role = roleOf(provider, person.groups)
  if (role === undefined) {
    if (isLastOwner) log.warn({ email }, 'the last owner has no role at the provider; keeping the owner')
    else if (!is_disabled) {
      await disableWithoutRole(transaction, id, provider.issuer)
      await record({ isDisabled: true })
    }
    return adminErrors.noAdministratorRole()
  }
  if (isLastOwner && role !== 'owner') {
    log.warn({ email, role }, 'the last owner has a lesser role at the provider; keeping the owner')
    return undefined
  }
  if (role === present && !is_disabled) return undefined
  await updateAdministrator(transaction, id, { role, ...(is_disabled ? { isDisabled: false } : {}) })
  await record({ role, isReduced: lesserRole(role, present) !== present, isDisabled: false })
  return undefined
}

/** Returns true if the groups of the provider decide the role of every administrator. */
function decidesRoles({ roles }: SignInProvider): boolean {
  return Object.keys(roles).length > 0
}

/** Maximum difference between the clocks of provider and database, in seconds. */
const toleranceSeconds = 30

/**
 * Admits sensitive operations of a session whose administrator has authenticated again. An administrator with a second
 * factor needs two at the provider as well.
 *
 * @param startedAt start of the request to the provider, by the database clock
 * @throws AppError reauthentication_refused
 */
export async function admitReauthentication(
  { database, tokens }: AdminContext,
  { provider, person, origin }: ProviderLogin,
  { sessionId, startedAt }: { readonly sessionId: string; readonly startedAt: Date },
): Promise<void> {
  const earliest = startedAt.getTime() / 1000 - toleranceSeconds
  await database.transaction(async (transaction) => {
    const found = await transaction.maybeOne<{ id: string; email: string | null }>(sql`
      select a.id, a.email from basalt.administrators a
      join basalt.administrator_identities i on i.administrator_id = a.id
      join basalt.admin_sessions s on s.administrator_id = a.id
      where s.id = ${sessionId} and s.name is null and least(s.expires_at, s.idle_expires_at) > now()
        and i.issuer = ${provider.issuer} and i.subject = ${person.subject} and a.disabled_at is null
      for update of a, s`)
    const isRecent = person.authenticatedAt !== undefined && person.authenticatedAt >= earliest
    if (found === undefined || !isRecent) throw adminErrors.reauthenticationRefused()
    if (person.isMultiFactor !== true && (await hasSecondFactor(transaction, found.id))) {
      throw adminErrors.reauthenticationRefused()
    }
    await transaction.count(
      sql`update basalt.admin_sessions set second_factor_at = now() where id = ${sessionId}`,
    )
    await recordAudit(transaction, {
      actor: 'admin',
      action: 'administrators.step_up',
      target: found.id,
      detail: { method: 'provider' },
      origin: { ...origin, administrator: found.email ?? undefined },
    })
  })
  tokens.invalidate(sessionId)
}
