import { randomBytes } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import {
  checkedByHandler,
  choice,
  pageOf,
  pageQuery,
  readPage,
  refusedWith,
} from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { withoutNulls } from '../../../../lib/without-nulls.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../../operations/throttle/index.ts'
import { siteErrors } from '../errors.ts'
import type { LiveSites } from '../serving/live-sites.ts'
import type { SiteHosts } from '../serving/site-hosts.ts'
import * as domains from './domain.ts'
import { Domain, type DomainRow } from './domain.ts'
import { readHostname } from './hostname.ts'
import { type ResolveTxt, verify as verifyDomain } from './verification.ts'

export interface DomainDeps {
  readonly database: SystemDatabase
  readonly live: Pick<LiveSites, 'refresh'>
  readonly throttle: Throttle
  readonly resolveTxt: ResolveTxt
  readonly hosts: Pick<SiteHosts, 'isOwn' | 'hasSite'>
}

const common = { guard: 'admin', permission: 'content.write', tag: 'sites' } as const
const collection = '/api/admin/domains'
const item = `${collection}/:id`
const params = Type.Object({ id: domains.domainId })

const list = operation({
  ...common,
  id: 'domains.list',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List custom domains of sites',
  query: pageQuery,
  success: ok(pageOf(Domain)),
  async handle({ database }: DomainDeps, { query }) {
    const { page, perPage, offset } = readPage(query)
    const rows = await domains.listDomains(database, perPage, offset)
    const totalItems = await domains.countDomains(database)
    const items = rows.map((row) => withoutNulls<Domain>(row))
    return { items, page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) }
  },
})

const create = operation({
  ...common,
  id: 'domains.create',
  method: 'POST',
  path: collection,
  summary: 'Register a custom domain',
  body: Type.Object({
    hostname: refusedWith(
      { missing: siteErrors.hostnameRequired },
      checkedByHandler(
        { format: 'idn-hostname' },
        Type.String({ minLength: 1, description: 'Domain name, such as `shop.example.com`.' }),
      ),
    ),
    environment: Type.Optional(
      refusedWith(
        { invalid: siteErrors.invalidEnvironment },
        Type.String({
          pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$',
          default: 'production',
          description: 'Any label.',
        }),
      ),
    ),
    redirectMode: Type.Optional(
      refusedWith(
        { invalid: siteErrors.invalidRedirectMode },
        choice(domains.redirectModes, {
          description:
            'Status of the redirect from the slug host to this domain: 308 or 307. By default, both hosts serve the site.',
        }),
      ),
    ),
  }),
  success: created(Domain),
  async handle({ database, hosts }: DomainDeps, { body, origin }) {
    const { environment = 'production', redirectMode } = body
    if (body.hostname.trim() === '') throw siteErrors.hostnameRequired()
    const hostname = readHostname(body.hostname)
    if (hostname === undefined) throw siteErrors.invalidHostname()
    if (hosts.isOwn(hostname)) throw siteErrors.ownHostname()
    const token = randomBytes(24).toString('base64url')
    return await database.transaction(async (transaction) => {
      const domain = { hostname, environment, redirectMode, token }
      const row = await domains.insertDomain(transaction, domain)
      if (row === undefined) throw siteErrors.hostnameTaken()
      const audit = { actor: 'admin', action: 'domains.create', target: row.id, detail: { hostname }, origin }
      await recordAudit(transaction, audit)
      return withoutNulls<Domain>(row)
    })
  },
})

const get = operation({
  ...common,
  id: 'domains.get',
  permission: 'content.read',
  method: 'GET',
  path: item,
  summary: 'Get a custom domain',
  params,
  success: ok(Domain),
  handle: async ({ database }: DomainDeps, { params }) =>
    withoutNulls<Domain>(await getDomain(database, params.id)),
})

const remove = operation({
  ...common,
  id: 'domains.delete',
  method: 'DELETE',
  path: item,
  summary: 'Delete a custom domain',
  description: 'The site stays reachable at its slug host. Requests to the domain return 421 for a month.',
  params,
  success: noContent,
  async handle({ database, live }: DomainDeps, { params: { id }, origin }) {
    await database.transaction(async (transaction) => {
      const hostname = await domains.tombstoneDomain(transaction, id)
      if (hostname === undefined) throw siteErrors.domainNotFound()
      await domains.detachSites(transaction, id)
      const audit = { actor: 'admin', action: 'domains.delete', target: id, detail: { hostname }, origin }
      await recordAudit(transaction, audit)
    })
    await live.refresh()
  },
})

/** Limit on checks, because each check queries name servers of other operators. */
const verifyLimit: AttemptLimit = { name: 'site_domain_verify', attempts: 10, windowSeconds: 3600 }

const verify = operation({
  ...common,
  id: 'domains.verify',
  method: 'POST',
  path: `${item}/verify`,
  summary: 'Check the DNS record of a domain',
  description: 'Limited to ten checks an hour for each domain.',
  params,
  success: ok(Domain),
  async handle({ database, live, throttle, resolveTxt }: DomainDeps, { params: { id }, origin }) {
    const { hostname, verification, status } = await getDomain(database, id)
    if (status === 'tombstoned') throw siteErrors.domainNotFound()
    requireAllowed(await throttle.attempt(verifyLimit, id.toLowerCase()))
    const outcome = await verifyDomain(resolveTxt, verification)
    const domain = await database.transaction(async (transaction) => {
      const row = await domains.recordCheck(transaction, id, outcome, false)
      if (row === undefined) throw siteErrors.domainNotFound()
      const detail = { hostname, outcome: outcome.kind }
      await recordAudit(transaction, { actor: 'admin', action: 'domains.verify', target: id, detail, origin })
      return withoutNulls<Domain>(row)
    })
    await live.refresh()
    return domain
  },
})

const checkTls = operation({
  guard: 'public',
  tag: 'sites',
  id: 'sites.checkTls',
  method: 'GET',
  path: '/api/sites/tls-check',
  summary: 'Check whether a host may get a certificate',
  description:
    'For the on-demand TLS of a proxy in front of the server. Returns 200 for hosts of sites and 404 for all others.',
  query: Type.Object({ domain: Type.String() }),
  success: ok(Type.Object({ domain: Type.String() })),
  /** Responds from memory, because a proxy sends a request for each host that a client names. */
  handle({ hosts }: DomainDeps, { query: { domain } }, reply) {
    if (!hosts.hasSite(domain)) throw siteErrors.domainNotFound()
    reply.header('cache-control', 'no-store')
    return { domain }
  },
})

/** Operations on custom domains, and the TLS check for a proxy. */
export const domainOperations = [list, create, get, remove, verify, checkTls]

/** @throws AppError domain_not_found */
async function getDomain(database: Queryable, id: string): Promise<DomainRow> {
  const row = await domains.findDomain(database, id)
  if (row === undefined) throw siteErrors.domainNotFound()
  return row
}
