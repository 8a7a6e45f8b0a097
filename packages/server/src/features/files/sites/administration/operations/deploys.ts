import type { Queryable } from '../../../../../database/system-database.ts'
import { created, ok, operation } from '../../../../../http/operation.ts'
import type { RequestOrigin } from '../../../../../http/requests/request-origin.ts'
import { refusedWith, uuid } from '../../../../../http/schemas.ts'
import { Type } from '../../../../../lib/type.ts'
import { withoutNulls } from '../../../../../lib/without-nulls.ts'
import { recordAudit } from '../../../../operations/audit/index.ts'
import { siteErrors } from '../../errors.ts'
import { readRuleFiles } from '../../rules/rule-queries.ts'
import { parseRules, type RuleFile } from '../../rules/site-rules.ts'
import * as deploys from '../deploy.ts'
import { Deploy, type DeployRow } from '../deploy.ts'
import { pageOf, pageQuery, readPage } from '../page.ts'
import { findSite, lockSite } from '../site.ts'
import { getSite, type SiteDeps, siteId } from './sites.ts'

const common = { guard: 'admin', permission: 'content.write', tag: 'sites' } as const
const collection = '/api/admin/sites/:siteId/deploys'
export const deployPath = `${collection}/:deployId`
const siteParams = Type.Object({ siteId })
export const deployParams = Type.Object({
  siteId,
  deployId: refusedWith({ invalid: siteErrors.invalidDeployId }, uuid),
})

const list = operation({
  ...common,
  id: 'sites.listDeploys',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List deploys of a site',
  params: siteParams,
  query: pageQuery,
  success: ok(pageOf('DeployPage', { deploys: Type.Array(Deploy) })),
  async handle({ database }: SiteDeps, { params, query }) {
    const { page, perPage, offset } = readPage(query)
    const site = await getSite(database, params.siteId)
    const rows = await deploys.listDeploys(database, site.id, perPage, offset)
    const totalCount = await deploys.countDeploys(database, site.id)
    return { deploys: rows.map((row) => withoutNulls<Deploy>(row)), totalCount, page, perPage }
  },
})

const create = operation({
  ...common,
  id: 'sites.createDeploy',
  method: 'POST',
  path: collection,
  summary: 'Create a deploy',
  params: siteParams,
  success: created(Deploy),
  async handle({ database }: SiteDeps, { params: { siteId }, origin }) {
    return await database.transaction(async (transaction) => {
      const row = await deploys.insertDeploy(transaction, siteId)
      if (row === undefined) throw siteErrors.siteNotFound()
      await audit(transaction, 'sites.create_deploy', row, origin)
      return withoutNulls<Deploy>(row)
    })
  },
})

const get = operation({
  ...common,
  id: 'sites.getDeploy',
  permission: 'content.read',
  method: 'GET',
  path: deployPath,
  summary: 'Get a deploy',
  params: deployParams,
  success: ok(Deploy),
  async handle({ database }: SiteDeps, { params }) {
    return withoutNulls<Deploy>(await getDeploy(database, params.siteId, params.deployId))
  },
})

const promote = operation({
  ...common,
  id: 'sites.promoteDeploy',
  method: 'POST',
  path: `${deployPath}/promote`,
  summary: 'Make a deploy live',
  params: deployParams,
  success: ok(Deploy),
  async handle(deps: SiteDeps, { params: { siteId, deployId }, origin }) {
    return await changeLive(deps, siteId, 'sites.promote', origin, async (transaction) => {
      const deploy = await deploys.findDeploy(transaction, siteId, deployId)
      // Without this check, the next statement would supersede the live deploy, which could then be promoted again.
      if (deploy?.status === 'live') throw siteErrors.invalidDeployTransition('promote', 'live')
      await deploys.supersedeLive(transaction, siteId)
      const row = await deploys.promoteDeploy(transaction, siteId, deployId)
      if (row === undefined) return await rejectTransition(transaction, 'promote', siteId, deployId)
      // The deploy accepts no more files, so its rule files no longer change.
      requireRules(await readRuleFiles(transaction, deployId))
      return row
    })
  },
})

const fail = operation({
  ...common,
  id: 'sites.failDeploy',
  method: 'POST',
  path: `${deployPath}/fail`,
  summary: 'Abandon a deploy',
  params: deployParams,
  body: Type.Optional(
    Type.Object({
      errorMessage: Type.Optional(
        refusedWith(
          { invalid: siteErrors.invalidDeployError },
          Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' }),
        ),
      ),
    }),
  ),
  success: ok(Deploy),
  async handle({ database }: SiteDeps, { params: { siteId, deployId }, body, origin }) {
    const { errorMessage = '' } = body ?? {}
    return await database.transaction(async (transaction) => {
      const row = await deploys.failDeploy(transaction, siteId, deployId, errorMessage)
      if (row === undefined) return await rejectTransition(transaction, 'fail', siteId, deployId)
      await audit(transaction, 'sites.fail_deploy', row, origin, { errorMessage })
      return withoutNulls<Deploy>(row)
    })
  },
})

const rollback = operation({
  ...common,
  id: 'sites.rollback',
  method: 'POST',
  path: `${collection}/rollback`,
  summary: 'Make the previous live deploy live again',
  description: 'Repeated calls go further back. The replaced deploy can be promoted again.',
  params: siteParams,
  success: ok(Deploy),
  async handle(deps: SiteDeps, { params: { siteId }, origin }) {
    return await changeLive(deps, siteId, 'sites.rollback', origin, async (transaction) => {
      const previous = await deploys.findPreviousLive(transaction, siteId)
      if (previous === undefined) throw siteErrors.noEarlierDeploy()
      await deploys.removeFromHistory(transaction, siteId)
      return await deploys.restoreDeploy(transaction, previous)
    })
  },
})

/** Operations on deploys. */
export const deployOperations = [list, create, rollback, get, promote, fail]

/** @throws AppError deploy_not_found */
export async function getDeploy(database: Queryable, siteId: string, id: string): Promise<DeployRow> {
  const row = await deploys.findDeploy(database, siteId, id)
  if (row === undefined) throw siteErrors.deployNotFound()
  return row
}

/** Changes the live deploy of a site. Changes of one site run one after the other. */
async function changeLive(
  { database, live, queue, purgeSite }: SiteDeps,
  siteId: string,
  action: string,
  origin: RequestOrigin,
  work: (transaction: Queryable) => Promise<DeployRow>,
): Promise<Deploy> {
  const row = await database.transaction(async (transaction) => {
    if (!(await lockSite(transaction, siteId))) throw siteErrors.siteNotFound()
    const site = purgeSite === undefined ? undefined : await findSite(transaction, siteId)
    const row = await work(transaction)
    if (site !== undefined) await purgeSite?.(transaction, site, site.liveDeployId, row.id)
    await audit(transaction, action, row, origin)
    return row
  })
  if (purgeSite !== undefined) queue.wake()
  await live.refresh()
  return withoutNulls<Deploy>(row)
}

async function audit(
  transaction: Queryable,
  action: string,
  { id, siteId: target }: DeployRow,
  origin: RequestOrigin,
  more: object = {},
): Promise<void> {
  await recordAudit(transaction, { actor: 'admin', action, target, detail: { deploy: id, ...more }, origin })
}

/** Rejects a transition. @throws AppError deploy_not_found, deploy_empty, invalid_deploy_transition */
async function rejectTransition(
  database: Queryable,
  action: string,
  siteId: string,
  id: string,
): Promise<never> {
  const { status, fileCount } = await getDeploy(database, siteId, id)
  const isEmpty = action === 'promote' && fileCount === 0 && status === 'uploading'
  throw isEmpty ? siteErrors.deployEmpty() : siteErrors.invalidDeployTransition(action, status)
}

/** Maximum number of faults in a response. */
const faultLimit = 50

/** @throws AppError invalid_site_rules */
function requireRules(files: readonly RuleFile[]): void {
  const { faults } = parseRules(files)
  const [first] = faults
  if (first === undefined) return
  const others = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`
  throw siteErrors
    .invalidSiteRules(`${first.file} line ${first.line}: ${first.problem}${others}`)
    .with({ data: { faults: faults.slice(0, faultLimit) } })
}
