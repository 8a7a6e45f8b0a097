import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { VerificationOutcome } from './verification.ts'

/** As it is stored; one that is verified and has a site is shown as active. */
export type DomainStatus =
  | 'pending_verification'
  | 'verified'
  | 'verification_failed'
  | 'verification_lapsed'
  | 'tombstoned'

export type RedirectMode = 'permanent' | 'temporary'

export interface DomainRow extends Record<string, unknown> {
  readonly id: string
  readonly hostname: string
  readonly environment: string
  readonly redirect_mode: RedirectMode | null
  readonly status: DomainStatus
  readonly verification_token: string
  readonly last_error: string | null
  readonly verified_at: Date | null
  readonly checked_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly site_id: string | null
}

const columns = sql`
  d.id, d.hostname, d.environment, d.redirect_mode, d.status, d.verification_token, d.last_error, d.verified_at,
  d.checked_at, d.created_at, d.updated_at,
  (select s.id from basalt.sites s where s.custom_domain_id = d.id) as site_id`

/** Checks in a row that must fail before a domain is no longer served. */
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
  readonly redirectMode: RedirectMode | undefined
  readonly token: string
}

/** Undefined when another domain has the hostname. */
export async function insertDomain(database: Queryable, domain: NewDomain): Promise<DomainRow | undefined> {
  return await database.maybeOne<DomainRow>(sql`
    insert into basalt.site_domains as d (hostname, environment, redirect_mode, verification_token)
    values (${domain.hostname}, ${domain.environment}, ${domain.redirectMode ?? null}, ${domain.token})
    on conflict (hostname) where status <> 'tombstoned' do nothing
    returning ${columns}`)
}

/** Undefined when there is none, or it was deleted. */
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
 * Notes what a check has found; undefined when the domain was deleted meanwhile.
 *
 * @param isCounted whether a failure counts towards the end of a verified domain
 */
export async function noteCheck(
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

/** Those that the daily check is about, in the order of their ids. */
export async function listVerified(database: Queryable, after: string, limit: number): Promise<DomainRow[]> {
  return await database.many<DomainRow>(sql`
    select ${columns} from basalt.site_domains d
    where d.status = 'verified' and d.id > ${after}::uuid
    order by d.id limit ${limit}::int`)
}

/** After a month few visitors still have the old address. */
export async function deleteOldTombstones(database: Queryable): Promise<void> {
  await database.count(sql`
    delete from basalt.site_domains where status = 'tombstoned' and updated_at < now() - interval '30 days'`)
}
