import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isUuid } from '../../../lib/uuid.ts'
import {
  accessErrors,
  type CallerReference,
  type Callers,
  type ExaminedCaller,
  type Gate,
  gate,
} from '../../data/policies/index.ts'
import {
  type AccountContext,
  claimsOf,
  createAccessTokenVerifier,
  findUserByEmail,
  findUserById,
  isUnverified,
  requireEmail,
  signAccessToken,
  type User,
} from '../accounts/index.ts'
import { examineApiKey } from '../api-keys/index.ts'
import { examineClient } from '../oauth-server/index.ts'
import { describeProgram, type OpenedProgram } from '../opaque-tokens/index.ts'

export interface CallerDeps {
  readonly accounts: Pick<AccountContext, 'config' | 'keys'>
  readonly database: Queryable
  readonly clock: Clock
}

/**
 * Callers whose access is explained. Their claims are signed and read back from the token, by the code that
 * requests use.
 */
export class AccountCallers implements Callers {
  readonly #deps: CallerDeps
  readonly #tokens: ReturnType<typeof createAccessTokenVerifier>

  constructor(deps: CallerDeps) {
    this.#deps = deps
    this.#tokens = createAccessTokenVerifier({ secret: deps.accounts.keys.access, clock: deps.clock })
  }

  async find(as: CallerReference): Promise<ExaminedCaller> {
    switch (as.kind) {
      case 'user':
        return this.#asUser(as, await this.#findUser(as))
      case 'key':
        return await this.#asKey(as)
      case 'client':
        return await this.#asClient(as)
      case 'claims':
        return await this.#asClaims(as)
      case 'anonymous':
        return { as, label: 'a request without a token', ...anonymous, gates: [] }
    }
  }

  async sample(): Promise<CallerReference[]> {
    const users = await this.#deps.database.many<{ id: string }>(sql`
      select u.id from basalt.users u
      left join lateral (select max(last_active_at) as at from basalt.sessions where user_id = u.id) used on true
      where u.disabled_at is null
      order by used.at desc nulls last, u.created_at desc, u.id
      limit ${sql.integer(sampleSize)}`)
    return [...users.map(({ id }): CallerReference => ({ kind: 'user', id })), { kind: 'anonymous' }]
  }

  async #findUser({ id, email }: CallerReference): Promise<User> {
    if ((id === undefined) === (email === undefined)) {
      throw accessErrors.invalidCaller('as: expected id or email of the user')
    }
    const { database } = this.#deps
    const user =
      id === undefined
        ? await findUserByEmail(database, requireEmail(email ?? ''))
        : await findUserById(database, id)
    if (user === undefined) throw accessErrors.callerNotFound('user')
    return user
  }

  async #asUser(as: CallerReference, user: User): Promise<ExaminedCaller> {
    const identity = await this.#identify({ ...claimsOf(user), ...sessionClaims(as) })
    const label = user.email ?? (user.is_anonymous ? `anonymous user ${user.id}` : `user ${user.id}`)
    const unverified = isUnverified(this.#deps.accounts, user)
    const gates = [
      gateOfAccount(user.disabled_at, label),
      gate(
        'verified address',
        !unverified,
        unverified
          ? `${label} has not verified the address, which auth.require_verified_email requires for a sign-in`
          : 'no sign-in waits for a verified address',
      ),
    ]
    return { as, label, scope: identity.scope, identity, gates }
  }

  async #asKey(as: CallerReference): Promise<ExaminedCaller> {
    const key = isUuid(as.id ?? '') ? await examineApiKey(this.#deps.database, as.id ?? '') : undefined
    if (key === undefined) throw accessErrors.callerNotFound('API key')
    const identity = describeProgram(key, key.id)
    const label = `API key "${key.name}" of ${key.email ?? `user ${key.user_id}`}`
    const inForce = key.revoked_at === null && !key.is_expired
    const state = key.revoked_at === null ? 'has expired' : 'is revoked'
    const gates = [
      gateOfToken('key', inForce, `the key ${inForce ? 'is in force' : state}`),
      gateOfAccount(key.disabled_at, key.email ?? 'its user'),
      gateOfLimit(key),
    ]
    return { as, label, scope: identity.scope, identity, gates }
  }

  async #asClient(as: CallerReference): Promise<ExaminedCaller> {
    const { id, email } = as
    const user = id === undefined && email === undefined ? undefined : await this.#findUser(as)
    const found = await examineClient(this.#deps.database, as.clientId ?? '', user?.id ?? null)
    if (found === undefined) throw accessErrors.callerNotFound('OAuth client')
    const client: OpenedProgram = {
      ...found,
      scope: as.scope ?? found.scope,
      allowed_tables: as.tables ?? found.allowed_tables,
    }
    const identity = { ...describeProgram(client), clientId: found.client_id }
    const forWhom = user === undefined ? 'for itself' : `for ${user.email ?? `user ${user.id}`}`
    const label = `OAuth client "${found.name}" ${forWhom}`
    const gates = [
      gateOfToken(
        'client',
        !found.is_revoked,
        `the client ${found.is_revoked ? 'is revoked' : 'is in force'}`,
      ),
      gate(
        'consent',
        found.is_granted,
        found.is_granted
          ? 'the client has a grant in force'
          : 'the client has no grant in force: it has no token to present',
      ),
      gateOfAccount(found.disabled_at, found.email ?? 'its user'),
      gateOfLimit(client),
    ]
    return { as, label, scope: identity.scope, identity, gates }
  }

  async #asClaims(as: CallerReference): Promise<ExaminedCaller> {
    const { userId, email = '', emailVerified = false, isAnonymous = false } = as
    if (userId === undefined) throw accessErrors.invalidCaller('as.userId: expected a UUID')
    const identity = await this.#identify({
      sub: userId.toLowerCase(),
      email,
      email_verified: emailVerified,
      is_anonymous: isAnonymous,
      ...sessionClaims(as),
    })
    return {
      as,
      label: `claims of ${email === '' ? userId : email}`,
      scope: identity.scope,
      identity,
      gates: [],
    }
  }

  /** Signs the claims and reads them back. @throws AppError invalid_caller */
  async #identify(claims: Parameters<typeof signAccessToken>[0]): Promise<UserIdentity> {
    const { accounts, clock } = this.#deps
    const token = signAccessToken(claims, accounts.config.token_duration, {
      secret: accounts.keys.access,
      clock,
    })
    const verdict = await this.#tokens.verify(token)
    if (!('identity' in verdict) || verdict.identity.kind !== 'user') {
      throw accessErrors.invalidCaller('as: expected claims that an access token can carry')
    }
    return verdict.identity
  }
}

/** Number of users that a change is tried with by default. */
const sampleSize = 5

const anonymous = { scope: { kind: 'anonymous' }, identity: undefined } as const

/** Returns the claims that depend on how the user signed in. */
function sessionClaims({ aal = 'aal1', sessionId }: CallerReference) {
  const amr = aal === 'aal2' ? ['password', 'totp'] : ['password']
  return { aal, amr, ...(sessionId === undefined ? {} : { sid: sessionId.toLowerCase() }) }
}

function gateOfAccount(disabledAt: Date | null, label: string): Gate {
  const isEnabled = disabledAt === null
  const sentence = `the account of ${label} is ${isEnabled ? 'enabled' : 'disabled'}`
  return gateOfToken('account', isEnabled, sentence)
}

/** Returns the gate of a condition whose failure ends every token of the caller. */
function gateOfToken(name: string, inForce: boolean, sentence: string): Gate {
  return gate(name, inForce, sentence, httpErrors.invalidToken())
}

function gateOfLimit(program: Pick<OpenedProgram, 'rate_limit' | 'rate_limit_window_seconds'>): Gate {
  const { rate_limit: requests, rate_limit_window_seconds: seconds } = program
  return gate(
    'app limit',
    true,
    requests === 0 ? 'the app is not limited' : `the app may send ${requests} requests in ${seconds} s`,
  )
}
