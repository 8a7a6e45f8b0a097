import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../../job-queue.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { siteErrors } from '../errors.ts'
import { readRuleFiles } from '../rules/rule-queries.ts'
import { parseRules, type RuleFile } from '../rules/site-rules.ts'
import type { LiveSites } from '../serving/live-sites.ts'
import * as queries from './deploy-queries.ts'
import { type PageInput, readPageB } from './page.ts'
import { type Deploy, showDeploy } from './show.ts'
import type { PurgeSite } from './site-purge.ts'
import { findSite, lockSite } from './site-queries.ts'
import { requireSiteId } from './sites.ts'

export interface DeployServiceDeps {
  readonly database: SystemDatabase
  readonly live: Pick<LiveSites, 'refresh'>
  readonly queue: Pick<JobQueue, 'wake'>
  /** Undefined without a content delivery network. */
  readonly purgeSite: PurgeSite | undefined
}

export type DeployService = ReturnType<typeof createDeployService>

export function createDeployService({ database, live, queue, purgeSite }: DeployServiceDeps) {
  /** Changes of the live deploy, one after the other, with their entry in the audit. */
  async function change(
    siteId: string,
    action: string,
    origin: RequestOrigin,
    work: (transaction: Queryable) => Promise<queries.DeployRow>,
  ): Promise<Deploy> {
    const deploy = await database.transaction(async (transaction) => {
      if (!(await lockSite(transaction, siteId))) throw siteErrors.siteNotFound()
      const site = purgeSite === undefined ? undefined : await findSite(transaction, siteId)
      const row = await work(transaction)
      if (site !== undefined) await purgeSite?.(transaction, site, site.live_deploy_id, row.id)
      const detail = { deploy: row.id }
      await recordAudit(transaction, { actor: 'admin', action, target: siteId, detail, origin })
      return showDeploy(row)
    })
    if (purgeSite !== undefined) queue.wake()
    await live.refresh()
    return deploy
  }

  /** Why a deploy cannot be promoted or failed. */
  async function refuse(database: Queryable, action: string, siteId: string, id: string): Promise<never> {
    const row = await queries.findDeploy(database, siteId, id)
    if (row === undefined) throw siteErrors.deployNotFound()
    const isEmpty = action === 'promote' && row.file_count === 0 && row.status === 'uploading'
    throw isEmpty ? siteErrors.deployEmpty() : siteErrors.invalidDeployTransition(action, row.status)
  }

  return {
    /** @throws AppError site_not_found */
    async list(siteId: string, input: PageInput) {
      const { page, perPage, offset } = readPageB(input)
      if ((await findSite(database, requireSiteId(siteId))) === undefined) throw siteErrors.siteNotFound()
      const rows = await queries.listDeploys(database, siteId, perPage, offset)
      const totalCount = await queries.countDeploys(database, siteId)
      return { deploys: rows.map(showDeploy), totalCount, page, perPage }
    },

    /** @throws AppError site_not_found */
    async create(siteId: string, origin: RequestOrigin): Promise<Deploy> {
      requireSiteId(siteId)
      return await database.transaction(async (transaction) => {
        const row = await queries.insertDeploy(transaction, siteId)
        if (row === undefined) throw siteErrors.siteNotFound()
        const detail = { deploy: row.id }
        const action = 'sites.create_deploy'
        await recordAudit(transaction, { actor: 'admin', action, target: siteId, detail, origin })
        return showDeploy(row)
      })
    },

    /** @throws AppError deploy_not_found */
    async get(siteId: string, id: string): Promise<Deploy> {
      const row = await queries.findDeploy(database, requireSiteId(siteId), requireDeployId(id))
      if (row === undefined) throw siteErrors.deployNotFound()
      return showDeploy(row)
    },

    /** @throws AppError deploy_not_found, deploy_empty, invalid_deploy_transition, invalid_site_rules */
    async promote(siteId: string, id: string, origin: RequestOrigin): Promise<Deploy> {
      requireSiteId(siteId)
      requireDeployId(id)
      return await change(siteId, 'sites.promote', origin, async (transaction) => {
        const deploy = await queries.findDeploy(transaction, siteId, id)
        // Superseded below, a live deploy could be promoted over itself.
        if (deploy?.status === 'live') throw siteErrors.invalidDeployTransition('promote', 'live')
        await queries.supersedeLive(transaction, siteId)
        const row = await queries.promoteDeploy(transaction, siteId, id)
        if (row === undefined) return await refuse(transaction, 'promote', siteId, id)
        // It takes no more files: what its rule files say stays.
        requireRules(await readRuleFiles(transaction, id))
        return row
      })
    },

    /** @throws AppError deploy_not_found, invalid_deploy_transition */
    async fail(siteId: string, id: string, reason: string, origin: RequestOrigin): Promise<Deploy> {
      requireSiteId(siteId)
      requireDeployId(id)
      if (reason.length > 2000 || reason.includes('\0')) throw siteErrors.invalidDeployError()
      return await database.transaction(async (transaction) => {
        const row = await queries.failDeploy(transaction, siteId, id, reason)
        if (row === undefined) return await refuse(transaction, 'fail', siteId, id)
        const detail = { deploy: id, errorMessage: reason }
        const action = 'sites.fail_deploy'
        await recordAudit(transaction, { actor: 'admin', action, target: siteId, detail, origin })
        return showDeploy(row)
      })
    },

    /** To the deploy that was live before. @throws AppError site_not_found, no_earlier_deploy */
    async rollback(siteId: string, origin: RequestOrigin): Promise<Deploy> {
      requireSiteId(siteId)
      return await change(siteId, 'sites.rollback', origin, async (transaction) => {
        const earlier = await queries.findEarlier(transaction, siteId)
        if (earlier === undefined) throw siteErrors.noEarlierDeploy()
        await queries.leaveLive(transaction, siteId)
        return await queries.restoreDeploy(transaction, earlier)
      })
    },
  }
}

/** Faults that an answer names. */
const shownFaults = 50

/** @throws AppError invalid_site_rules */
function requireRules(files: readonly RuleFile[]): void {
  const { faults } = parseRules(files)
  const [first] = faults
  if (first === undefined) return
  const others = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`
  throw siteErrors
    .invalidSiteRules(`${first.file} line ${first.line}: ${first.problem}${others}`)
    .with({ data: { faults: faults.slice(0, shownFaults) } })
}

/** @throws AppError invalid_deploy_id */
export function requireDeployId(id: string): string {
  if (!isUuid(id)) throw siteErrors.invalidDeployId()
  return id
}
