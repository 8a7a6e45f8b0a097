import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../../job-queue.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { SiteAddress } from '../address.ts'
import { cleanupJobName } from '../cleanup.ts'
import { requireDomainId } from '../domains/domains.ts'
import { siteErrors } from '../errors.ts'
import type { LiveSites } from '../serving/live-sites.ts'
import { type PageInput, readPageB } from './page.ts'
import { type Site, showSite } from './show.ts'
import type { PurgeSite } from './site-purge.ts'
import * as queries from './site-queries.ts'

export interface SiteInput {
  readonly name?: string | undefined
  readonly slug?: string | undefined
  readonly spaMode?: boolean | undefined
  readonly customDomainId?: string | undefined
  readonly clearCustomDomain?: boolean | undefined
}

export interface SiteServiceDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly live: Pick<LiveSites, 'refresh'>
  readonly addressOf: SiteAddress
  /** Undefined without a content delivery network. */
  readonly purgeSite: PurgeSite | undefined
}

export type SiteService = ReturnType<typeof createSiteService>

export function createSiteService({ database, queue, live, addressOf, purgeSite }: SiteServiceDeps) {
  const show = (row: queries.SiteRow) => showSite(row, addressOf)

  return {
    async list(input: PageInput) {
      const { page, perPage, offset } = readPageB(input)
      const rows = await queries.listSites(database, perPage, offset)
      return { sites: rows.map(show), totalCount: await queries.countSites(database), page, perPage }
    },

    /** @throws AppError site_name_required, site_slug_required, invalid_site_slug, site_slug_taken, … */
    async create(input: SiteInput, origin: RequestOrigin): Promise<Site> {
      const name = readName(input.name ?? '')
      const slug = readSlug(input.slug)
      const { customDomainId } = input
      if (customDomainId !== undefined) requireDomainId(customDomainId)
      return await database.transaction(async (transaction) => {
        if (customDomainId !== undefined) await requireFreeDomain(transaction, customDomainId)
        const spaMode = input.spaMode ?? false
        const row = await queries.insertSite(transaction, { name, slug, spaMode, customDomainId })
        if (row === undefined) throw siteErrors.siteSlugTaken()
        const detail = { name, slug, spaMode, customDomainId }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'sites.create',
          target: row.id,
          detail,
          origin,
        })
        return show(row)
      })
    },

    /** @throws AppError site_not_found */
    async get(id: string): Promise<Site> {
      const row = await queries.findSite(database, requireSiteId(id))
      if (row === undefined) throw siteErrors.siteNotFound()
      return show(row)
    },

    /** @throws AppError site_not_found, invalid_site_name, domain_not_found, domain_attached */
    async update(id: string, input: SiteInput, origin: RequestOrigin): Promise<Site> {
      requireSiteId(id)
      const name = input.name === undefined ? undefined : readName(input.name)
      const customDomainId = readDomainChange(input)
      const site = await database.transaction(async (transaction) => {
        if (typeof customDomainId === 'string') await requireFreeDomain(transaction, customDomainId, id)
        const row = await queries.updateSite(transaction, id, {
          name,
          spaMode: input.spaMode,
          customDomainId,
        })
        if (row === undefined) throw siteErrors.siteNotFound()
        const detail = {
          name: row.name,
          spaMode: row.spa_mode,
          customDomainId: row.custom_domain_id ?? undefined,
        }
        await recordAudit(transaction, { actor: 'admin', action: 'sites.update', target: id, detail, origin })
        return show(row)
      })
      await live.refresh()
      return site
    },

    /** Its files go with it. @throws AppError site_not_found */
    async delete(id: string, origin: RequestOrigin): Promise<void> {
      requireSiteId(id)
      await database.transaction(async (transaction) => {
        if (purgeSite !== undefined && (await queries.lockSite(transaction, id))) {
          const site = await queries.findSite(transaction, id)
          if (site !== undefined) await purgeSite(transaction, site, site.live_deploy_id, null)
        }
        const row = await queries.deleteSite(transaction, id)
        if (row === undefined) throw siteErrors.siteNotFound()
        await queue.enqueue(cleanupJobName, {}, transaction)
        const detail = { slug: row.slug }
        await recordAudit(transaction, { actor: 'admin', action: 'sites.delete', target: id, detail, origin })
      })
      queue.wake()
      await live.refresh()
    },
  }
}

/** @throws AppError invalid_site_id */
export function requireSiteId(id: string): string {
  if (!isUuid(id)) throw siteErrors.invalidSiteId()
  return id
}

function readName(text: string): string {
  const name = text.trim()
  if (name === '') throw siteErrors.siteNameRequired()
  if (name.length > 200 || /\p{Cc}/u.test(name) || !name.isWellFormed()) throw siteErrors.invalidSiteName()
  return name
}

function readSlug(text = ''): string {
  const slug = text.trim().toLowerCase()
  if (slug === '') throw siteErrors.siteSlugRequired()
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(slug)) throw siteErrors.invalidSiteSlug()
  return slug
}

/** Null: the site is to have none; undefined: as it is. */
function readDomainChange({ customDomainId, clearCustomDomain }: SiteInput): string | null | undefined {
  if (customDomainId !== undefined && clearCustomDomain === true) throw siteErrors.domainChoice()
  if (clearCustomDomain === true) return null
  return customDomainId === undefined ? undefined : requireDomainId(customDomainId)
}

/** @throws AppError domain_not_found, domain_attached */
async function requireFreeDomain(transaction: Queryable, id: string, siteId?: string): Promise<void> {
  const domain = await queries.lockDomain(transaction, id)
  if (domain === undefined) throw siteErrors.domainNotFound()
  if (domain.site_id !== null && domain.site_id !== siteId?.toLowerCase()) throw siteErrors.domainAttached()
}
