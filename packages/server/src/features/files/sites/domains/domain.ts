import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, choice, component, refusedWith, timestamp, uuid } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { RowOf } from '../../../../lib/without-nulls.ts'
import { siteErrors } from '../errors.ts'
import type { VerificationOutcome } from './verification.ts'

export const redirectModes = ['permanent', 'temporary'] as const

export const domainId = refusedWith({ invalid: siteErrors.invalidDomainId }, uuid)

export const Domain = component(
  'Domain',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    hostname: Type.String({ description: 'Name in ASCII.' }),
    environment: Type.String(),
    redirectMode: Type.Optional(choice(redirectModes)),
    status: choice([
      'pending_verification',
      'verified',
      'active',
      'verification_failed',
      'verification_lapsed',
      'tombstoned',
    ]),
    verification: Type.Object(
      { type: choice(['TXT']), name: Type.String(), value: Type.String() },
      { description: 'DNS record that proves the ownership of the domain.' },
    ),
    siteId: Type.Optional(Type.String({ format: 'uuid' })),
    lastError: Type.Optional(Type.String({ description: 'Reason why the last check failed.' })),
    verifiedAt: Type.Optional(timestamp),
    checkedAt: Type.Optional(timestamp),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Domain = Answered<typeof Domain>
export type DomainRow = RowOf<Domain>

const siteId = sql`(select s.id from basalt.sites s where s.custom_domain_id = d.id)`

const columns = sql`
  d.id, d.hostname, d.environment, d.redirect_mode as "redirectMode",
  case when d.status = 'verified' and ${siteId} is not null then 'active' else d.status end as status,
  json_build_object('type', 'TXT', 'name', '_basalt.' || d.hostname,
    'value', 'basalt-verification=' || d.verification_token) as verification,
  ${siteId} as "siteId", d.last_error as "lastError", d.verified_at as "verifiedAt", d.checked_at as "checkedAt",
  d.created_at as "createdAt", d.updated_at as "updatedAt"`

/** Number of failed checks in a row before a verified domain is no longer served. */
const toleratedChecks = 3

export async function listDomains(database: Queryable, limit: number, offset: number): Promise<DomainRow[]> {
  return await database.many<DomainRow>(sql`
    select ${columns} from basalt.site_domains d
    order by d.created_at desc, d.id desc limit ${limit}::int offset ${offset}::int`)
}

export async function countDomains(database: Queryable): Promise<number> {
  const { count } = await database.one<{ count: number }>(
    sql`select count(*)::int as count from basalt.site_domains`,
  )
  return count
}

export async function findDomain(database: Queryable, id: string): Promise<DomainRow | undefined> {
  return await database.maybeOne<DomainRow>(
    sql`select ${columns} from basalt.site_domains d where d.id = ${id}::uuid`,
  )
}

export interface NewDomain {
  readonly hostname: string
  readonly environment: string
  readonly redirectMode: Domain['redirectMode']
  readonly token: string
}

/** Registers a domain, unless another domain has the hostname. */
export async function insertDomain(database: Queryable, domain: NewDomain): Promise<DomainRow | undefined> {
  return await database.maybeOne<DomainRow>(sql`
    insert into basalt.site_domains as d (hostname, environment, redirect_mode, verification_token)
    values (${domain.hostname}, ${domain.environment}, ${domain.redirectMode ?? null}, ${domain.token})
    on conflict (hostname) where status <> 'tombstoned' do nothing
    returning ${columns}`)
}

/** Turns a domain into a tombstone and returns its hostname. Returns undefined if the domain does not exist. */
export async function tombstoneDomain(transaction: Queryable, id: string): Promise<string | undefined> {
  const row = await transaction.maybeOne<{ hostname: string }>(sql`
    update basalt.site_domains set status = 'tombstoned', updated_at = now()
    where id = ${id}::uuid and status <> 'tombstoned'
    returning hostname`)
  return row?.hostname
}

export async function detachSites(transaction: Queryable, domainId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.sites set custom_domain_id = null, updated_at = now()
    where custom_domain_id = ${domainId}::uuid`)
}

/**
 * Records the outcome of a check. Returns undefined if the domain was deleted in the meantime.
 *
 * @param isCounted whether a failure counts towards the limit of failed checks
 */
export async function recordCheck(
  database: Queryable,
  id: string,
  outcome: VerificationOutcome,
  isCounted: boolean,
): Promise<DomainRow | undefined> {
  const isFound = outcome.kind === 'found'
  const isAbsent = outcome.kind === 'absent'
  return await database.maybeOne<DomainRow>(sql`
    update basalt.site_domains d set
      status = case
        when ${isFound}::bool then 'verified'
        when ${isAbsent}::bool and d.status = 'pending_verification' then 'verification_failed'
        when ${isAbsent && isCounted}::bool and d.status = 'verified' and d.failed_checks + 1 >= ${toleratedChecks}::int
          then 'verification_lapsed'
        else d.status end,
      failed_checks = case
        when ${isFound}::bool then 0
        when ${isAbsent && isCounted}::bool then d.failed_checks + 1
        else d.failed_checks end,
      verified_at = case when ${isFound}::bool then now() else d.verified_at end,
      last_error = ${isFound ? null : outcome.reason},
      checked_at = now(), updated_at = now()
    where d.id = ${id}::uuid and d.status <> 'tombstoned'
    returning ${columns}`)
}

/** Lists the domains for the daily check, ordered by id. */
export async function listVerified(database: Queryable, after: string, limit: number): Promise<DomainRow[]> {
  return await database.many<DomainRow>(sql`
    select ${columns} from basalt.site_domains d
    where d.status = 'verified' and d.id > ${after}::uuid
    order by d.id limit ${limit}::int`)
}

/** Deletes tombstones after a month, when few visitors still use the old address. */
export async function deleteOldTombstones(database: Queryable): Promise<void> {
  await database.count(sql`
    delete from basalt.site_domains where status = 'tombstoned' and updated_at < now() - interval '30 days'`)
}
