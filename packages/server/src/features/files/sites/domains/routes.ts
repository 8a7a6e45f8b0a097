import { originOf } from '../../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { siteErrors } from '../errors.ts'
import type { DomainService } from './domains.ts'
import * as schemas from './schemas.ts'

const path = '/api/admin/domains'

/** Domains that people own, for sites. */
export function domainRoutes(app: HttpServer, domains: DomainService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'domains.list' }, schema: schemas.listDomainsSchema },
    async (request, reply) => reply.send(await domains.list(request.query)),
  )
  app.post(
    path,
    { config: { guard: 'admin', operation: 'domains.create' }, schema: schemas.createDomainSchema },
    async (request, reply) => reply.code(201).send(await domains.create(request.body, originOf(request))),
  )
  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'domains.get' }, schema: schemas.getDomainSchema },
    async (request, reply) => reply.send(await domains.get(request.params.id)),
  )
  app.delete(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'domains.delete' }, schema: schemas.deleteDomainSchema },
    async (request, reply) => {
      await domains.delete(request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
  app.post(
    `${path}/:id/verify`,
    { config: { guard: 'admin', operation: 'domains.verify' }, schema: schemas.verifyDomainSchema },
    async (request, reply) => reply.send(await domains.verify(request.params.id, originOf(request))),
  )
}

/** Answered from memory: a proxy asks for each host that anybody names to it. */
export function tlsCheckRoute(app: HttpServer, hasSite: (host: string) => boolean): void {
  app.get(
    '/api/sites/tls-check',
    { config: { guard: 'public', operation: 'sites.checkTls' }, schema: schemas.tlsCheckSchema },
    async ({ query: { domain } }, reply) => {
      if (!hasSite(domain)) throw siteErrors.domainNotFound()
      return reply.header('cache-control', 'no-store').send({ domain })
    },
  )
}
