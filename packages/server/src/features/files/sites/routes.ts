import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { DeployService } from './administration/deploys.ts'
import type { SiteService } from './administration/sites.ts'
import * as schemas from './schemas.ts'

const path = '/api/admin/sites'
const deploysPath = `${path}/:siteId/deploys`

/** Administration of sites and of what is live. */
export function siteRoutes(app: HttpServer, sites: SiteService, deploys: DeployService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'sites.list' }, schema: schemas.listSitesSchema },
    async (request, reply) => reply.send(await sites.list(request.query)),
  )
  app.post(
    path,
    { config: { guard: 'admin', operation: 'sites.create' }, schema: schemas.createSiteSchema },
    async (request, reply) => reply.code(201).send(await sites.create(request.body, originOf(request))),
  )
  app.get(
    `${path}/:siteId`,
    { config: { guard: 'admin', operation: 'sites.get' }, schema: schemas.getSiteSchema },
    async (request, reply) => reply.send(await sites.get(request.params.siteId)),
  )
  app.put(
    `${path}/:siteId`,
    { config: { guard: 'admin', operation: 'sites.update' }, schema: schemas.updateSiteSchema },
    async (request, reply) =>
      reply.send(await sites.update(request.params.siteId, request.body, originOf(request))),
  )
  app.delete(
    `${path}/:siteId`,
    { config: { guard: 'admin', operation: 'sites.delete' }, schema: schemas.deleteSiteSchema },
    async (request, reply) => {
      await sites.delete(request.params.siteId, originOf(request))
      return reply.code(204).send()
    },
  )
  app.get(
    deploysPath,
    { config: { guard: 'admin', operation: 'sites.listDeploys' }, schema: schemas.listDeploysSchema },
    async (request, reply) => reply.send(await deploys.list(request.params.siteId, request.query)),
  )
  app.post(
    deploysPath,
    { config: { guard: 'admin', operation: 'sites.createDeploy' }, schema: schemas.createDeploySchema },
    async (request, reply) =>
      reply.code(201).send(await deploys.create(request.params.siteId, originOf(request))),
  )
  app.post(
    `${deploysPath}/rollback`,
    { config: { guard: 'admin', operation: 'sites.rollback' }, schema: schemas.rollbackSchema },
    async (request, reply) => reply.send(await deploys.rollback(request.params.siteId, originOf(request))),
  )
  app.get(
    `${deploysPath}/:deployId`,
    { config: { guard: 'admin', operation: 'sites.getDeploy' }, schema: schemas.getDeploySchema },
    async ({ params }, reply) => reply.send(await deploys.get(params.siteId, params.deployId)),
  )
  app.post(
    `${deploysPath}/:deployId/promote`,
    { config: { guard: 'admin', operation: 'sites.promoteDeploy' }, schema: schemas.promoteDeploySchema },
    async (request, reply) => {
      const { siteId, deployId } = request.params
      return reply.send(await deploys.promote(siteId, deployId, originOf(request)))
    },
  )
  app.post(
    `${deploysPath}/:deployId/fail`,
    { config: { guard: 'admin', operation: 'sites.failDeploy' }, schema: schemas.failDeploySchema },
    async (request, reply) => {
      const { siteId, deployId } = request.params
      const { errorMessage = '' } = request.body ?? {}
      return reply.send(await deploys.fail(siteId, deployId, errorMessage, originOf(request)))
    },
  )
}
