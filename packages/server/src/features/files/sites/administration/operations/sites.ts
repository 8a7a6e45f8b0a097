import type { Queryable, SystemDatabase } from '../../../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../../../http/operation.ts'
import { checkedByHandler, refusedWith, uuid } from '../../../../../http/schemas.ts'
import type { JobQueue } from '../../../../../job-queue.ts'
import { Type } from '../../../../../lib/type.ts'
import { recordAudit } from '../../../../operations/audit/index.ts'
import type { SiteAddress } from '../../address.ts'
import { cleanupJobName } from '../../cleanup.ts'
import { domainId } from '../../domains/domain.ts'
import { siteErrors } from '../../errors.ts'
import type { LiveSites } from '../../serving/live-sites.ts'
import { pageOf, pageQuery, readPage } from '../page.ts'
import * as sites from '../site.ts'
import type { PurgeSite } from '../site-purge.ts'

export interface SiteDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly live: Pick<LiveSites, 'refresh'>
  readonly addressOf: SiteAddress
  /** Undefined without a content delivery network. */
  readonly purgeSite: PurgeSite | undefined
}

const common = { guard: 'admin', permission: 'content.write', tag: 'sites' } as const
const collection = '/api/admin/sites'
const item = `${collection}/:siteId`
export const siteId = refusedWith({ invalid: siteErrors.invalidSiteId }, uuid)
const params = Type.Object({ siteId })

const name = refusedWith(
  { missing: siteErrors.siteNameRequired },
  checkedByHandler(
    {
      maxLength: 200,
      pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
    },
    Type.String({ minLength: 1 }),
  ),
)
const slug = refusedWith(
  { missing: siteErrors.siteSlugRequired },
  checkedByHandler(
    { pattern: '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$' },
    Type.String({ minLength: 1, description: 'DNS label.' }),
  ),
)

const list = operation({
  ...common,
  id: 'sites.list',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List sites',
  query: pageQuery,
  success: ok(pageOf('SitePage', { sites: Type.Array(sites.Site) })),
  async handle({ database, addressOf }: SiteDeps, { query }) {
    const { page, perPage, offset } = readPage(query)
    const rows = await sites.listSites(database, perPage, offset)
    const totalCount = await sites.countSites(database)
    return { sites: rows.map((row) => sites.withUrl(row, addressOf)), totalCount, page, perPage }
  },
})

const create = operation({
  ...common,
  id: 'sites.create',
  method: 'POST',
  path: collection,
  summary: 'Create a site',
  body: Type.Object({
    name,
    slug,
    spaMode: Type.Optional(Type.Boolean()),
    customDomainId: Type.Optional(domainId),
  }),
  success: created(sites.Site),
  async handle({ database, addressOf }: SiteDeps, { body, origin }) {
    const { spaMode = false, customDomainId } = body
    const detail = { name: readName(body.name), slug: readSlug(body.slug), spaMode, customDomainId }
    return await database.transaction(async (transaction) => {
      if (customDomainId !== undefined) await requireFreeDomain(transaction, customDomainId)
      const row = await sites.insertSite(transaction, detail)
      if (row === undefined) throw siteErrors.siteSlugTaken()
      const { id: target } = row
      await recordAudit(transaction, { actor: 'admin', action: 'sites.create', target, detail, origin })
      return sites.withUrl(row, addressOf)
    })
  },
})

const get = operation({
  ...common,
  id: 'sites.get',
  permission: 'content.read',
  method: 'GET',
  path: item,
  summary: 'Get a site',
  params,
  success: ok(sites.Site),
  async handle({ database, addressOf }: SiteDeps, { params }) {
    return sites.withUrl(await getSite(database, params.siteId), addressOf)
  },
})

const update = operation({
  ...common,
  id: 'sites.update',
  method: 'PUT',
  path: item,
  summary: 'Change a site',
  params,
  body: Type.Object({
    name: Type.Optional(name),
    spaMode: Type.Optional(Type.Boolean()),
    customDomainId: Type.Optional(domainId),
    clearCustomDomain: Type.Optional(
      Type.Boolean({ description: 'True to detach the custom domain. Not allowed with `customDomainId`.' }),
    ),
  }),
  success: ok(sites.Site),
  async handle({ database, addressOf, live }: SiteDeps, { params: { siteId: id }, body, origin }) {
    const { spaMode, customDomainId, clearCustomDomain = false } = body
    const name = body.name === undefined ? undefined : readName(body.name)
    if (customDomainId !== undefined && clearCustomDomain) throw siteErrors.domainChoice()
    const site = await database.transaction(async (transaction) => {
      if (customDomainId !== undefined) await requireFreeDomain(transaction, customDomainId, id)
      const changes = { name, spaMode, customDomainId: clearCustomDomain ? null : customDomainId }
      const row = await sites.updateSite(transaction, id, changes)
      if (row === undefined) throw siteErrors.siteNotFound()
      const site = sites.withUrl(row, addressOf)
      const detail = { name: site.name, spaMode: site.spaMode, customDomainId: site.customDomainId }
      await recordAudit(transaction, { actor: 'admin', action: 'sites.update', target: id, detail, origin })
      return site
    })
    await live.refresh()
    return site
  },
})

const remove = operation({
  ...common,
  id: 'sites.delete',
  method: 'DELETE',
  path: item,
  summary: 'Delete a site with its deploys and files',
  params,
  success: noContent,
  async handle({ database, queue, live, purgeSite }: SiteDeps, { params: { siteId: id }, origin }) {
    await database.transaction(async (transaction) => {
      if (purgeSite !== undefined && (await sites.lockSite(transaction, id))) {
        const site = await getSite(transaction, id)
        await purgeSite(transaction, site, site.liveDeployId, null)
      }
      const row = await sites.deleteSite(transaction, id)
      if (row === undefined) throw siteErrors.siteNotFound()
      await queue.enqueue(cleanupJobName, {}, transaction)
      const detail = { slug: row.slug }
      await recordAudit(transaction, { actor: 'admin', action: 'sites.delete', target: id, detail, origin })
    })
    queue.wake()
    await live.refresh()
  },
})

/** Operations on sites. */
export const siteOperations = [list, create, get, update, remove]

/** @throws AppError site_not_found */
export async function getSite(database: Queryable, id: string): Promise<sites.SiteRow> {
  const row = await sites.findSite(database, id)
  if (row === undefined) throw siteErrors.siteNotFound()
  return row
}

/** @throws AppError site_name_required, invalid_site_name */
function readName(text: string): string {
  const name = text.trim()
  if (name === '') throw siteErrors.siteNameRequired()
  if (name.length > 200 || /\p{Cc}/u.test(name) || !name.isWellFormed()) throw siteErrors.invalidSiteName()
  return name
}

/** @throws AppError site_slug_required, invalid_site_slug */
function readSlug(text: string): string {
  const slug = text.trim().toLowerCase()
  if (slug === '') throw siteErrors.siteSlugRequired()
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(slug)) throw siteErrors.invalidSiteSlug()
  return slug
}

/** @throws AppError domain_not_found, domain_attached */
async function requireFreeDomain(transaction: Queryable, id: string, siteId?: string): Promise<void> {
  if (!(await sites.lockDomain(transaction, id))) throw siteErrors.domainNotFound()
  // A separate statement sees domains attached while this transaction waited for the lock.
  if (await sites.isAttached(transaction, id, siteId)) throw siteErrors.domainAttached()
}
