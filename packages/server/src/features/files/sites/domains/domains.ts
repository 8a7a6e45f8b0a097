import { randomBytes } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../../http/schemas.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../../operations/throttle/index.ts'
import { siteErrors } from '../errors.ts'
import type { LiveSites } from '../serving/live-sites.ts'
import * as queries from './domain-queries.ts'
import { readHostname } from './hostname.ts'
import { type Domain, showDomain } from './show-domain.ts'
import { type ResolveTxt, verificationRecord, verify } from './verification.ts'

export interface DomainInput {
  readonly hostname?: string | undefined
  readonly environment?: string | undefined
  readonly redirectMode?: string | undefined
}

export interface DomainServiceDeps {
  readonly database: SystemDatabase
  readonly live: Pick<LiveSites, 'refresh'>
  readonly throttle: Throttle
  readonly resolveTxt: ResolveTxt
  /** Whether the name is the server's own, or below the parent domain of sites. */
  readonly isOwnHost: (hostname: string) => boolean
}

export type DomainService = ReturnType<typeof createDomainService>

/** Each check asks name servers that others run. */
const verifyLimit: AttemptLimit = { name: 'site_domain_verify', attempts: 10, windowSeconds: 3600 }

export function createDomainService(deps: DomainServiceDeps) {
  const { database, live, throttle, resolveTxt, isOwnHost } = deps

  async function get(id: string): Promise<queries.DomainRow> {
    const row = await queries.findDomain(database, requireDomainId(id))
    if (row === undefined) throw siteErrors.domainNotFound()
    return row
  }

  function record(
    transaction: Queryable,
    action: string,
    target: string,
    detail: Readonly<Record<string, unknown>>,
    origin: RequestOrigin,
  ): Promise<void> {
    return recordAudit(transaction, { actor: 'admin', action, target, detail, origin })
  }

  return {
    async list(request: PageRequest) {
      const { page, perPage, offset } = readPage(request)
      const items = (await queries.listDomains(database, perPage, offset)).map(showDomain)
      const totalItems = await queries.countDomains(database)
      return { items, page, perPage, totalItems, totalPages: Math.ceil(totalItems / perPage) }
    },

    /** @throws AppError hostname_required, invalid_hostname, hostname_taken, … */
    async create(input: DomainInput, origin: RequestOrigin): Promise<Domain> {
      const { hostname = '', environment = 'production' } = input
      if (hostname.trim() === '') throw siteErrors.hostnameRequired()
      const name = readHostname(hostname)
      if (name === undefined) throw siteErrors.invalidHostname()
      if (isOwnHost(name)) throw siteErrors.ownHostname()
      if (!/^[a-z0-9][a-z0-9_-]{0,62}$/i.test(environment)) throw siteErrors.invalidEnvironment()
      const redirectMode = readRedirectMode(input.redirectMode)
      const token = randomBytes(24).toString('base64url')
      return await database.transaction(async (transaction) => {
        const domain = { hostname: name, environment, redirectMode, token }
        const row = await queries.insertDomain(transaction, domain)
        if (row === undefined) throw siteErrors.hostnameTaken()
        await record(transaction, 'domains.create', row.id, { hostname: name }, origin)
        return showDomain(row)
      })
    },

    /** @throws AppError domain_not_found */
    async get(id: string): Promise<Domain> {
      return showDomain(await get(id))
    },

    /** Its site keeps its other address. @throws AppError domain_not_found */
    async delete(id: string, origin: RequestOrigin): Promise<void> {
      requireDomainId(id)
      await database.transaction(async (transaction) => {
        const hostname = await queries.tombstoneDomain(transaction, id)
        if (hostname === undefined) throw siteErrors.domainNotFound()
        await queries.detachSites(transaction, id)
        await record(transaction, 'domains.delete', id, { hostname }, origin)
      })
      await live.refresh()
    },

    /** Looks for the record in the DNS. @throws AppError domain_not_found, too_many_requests */
    async verify(id: string, origin: RequestOrigin): Promise<Domain> {
      const { hostname, verification_token, status } = await get(id)
      if (status === 'tombstoned') throw siteErrors.domainNotFound()
      requireAllowed(await throttle.attempt(verifyLimit, id.toLowerCase()))
      const outcome = await verify(resolveTxt, verificationRecord(hostname, verification_token))
      const domain = await database.transaction(async (transaction) => {
        const row = await queries.noteCheck(transaction, id, outcome, false)
        if (row === undefined) throw siteErrors.domainNotFound()
        await record(transaction, 'domains.verify', id, { hostname, outcome: outcome.kind }, origin)
        return showDomain(row)
      })
      await live.refresh()
      return domain
    },
  }
}

/** @throws AppError invalid_redirect_mode */
function readRedirectMode(text: string | undefined): queries.RedirectMode | undefined {
  if (text === undefined || text === 'permanent' || text === 'temporary') return text
  throw siteErrors.invalidRedirectMode()
}

/** @throws AppError invalid_domain_id */
export function requireDomainId(id: string): string {
  if (!isUuid(id)) throw siteErrors.invalidDomainId()
  return id
}
