import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { routeSchemas as schemas } from './schemas.ts'
import type { SearchService } from './service.ts'

/** Administration of searches. The first two paths stand before records whose key is such a word. */
export function searchRoutes(app: HttpServer, search: SearchService): void {
  const settings = '/api/collections/:table/search-settings'
  const synonyms = '/api/collections/:table/synonyms'

  app.get(
    settings,
    { config: { guard: 'admin', operation: 'search.getSettings' }, schema: schemas.getSettings },
    async (request, reply) => reply.send(await search.getSettings(request.params.table)),
  )

  app.put(
    settings,
    { config: { guard: 'admin', operation: 'search.replaceSettings' }, schema: schemas.replaceSettings },
    async (request, reply) =>
      reply.send(await search.replaceSettings(request.params.table, request.body, originOf(request))),
  )

  app.get(
    synonyms,
    { config: { guard: 'admin', operation: 'search.getSynonyms' }, schema: schemas.getSynonyms },
    async (request, reply) => reply.send(await search.getSynonyms(request.params.table)),
  )

  app.put(
    synonyms,
    { config: { guard: 'admin', operation: 'search.replaceSynonyms' }, schema: schemas.replaceSynonyms },
    async (request, reply) =>
      reply.send(await search.replaceSynonyms(request.params.table, request.body, originOf(request))),
  )

  app.get(
    '/api/admin/search',
    { config: { guard: 'admin', operation: 'search.list' }, schema: schemas.list },
    async (_request, reply) => reply.send({ items: await search.listIndexes() }),
  )

  app.get(
    '/api/admin/search/:table',
    { config: { guard: 'admin', operation: 'search.describe' }, schema: schemas.describe },
    async (request, reply) => {
      const { columns, ...described } = await search.describe(request.params.table)
      return reply.send({ ...described, columns: [...columns] })
    },
  )

  app.post(
    '/api/admin/search/:table/enable',
    { config: { guard: 'admin', operation: 'search.enable' }, schema: schemas.enable },
    async (request, reply) => reply.send(await search.enable(request.params.table, originOf(request))),
  )

  app.post(
    '/api/admin/search/:table/disable',
    { config: { guard: 'admin', operation: 'search.disable' }, schema: schemas.disable },
    async (request, reply) => reply.send(await search.disable(request.params.table, originOf(request))),
  )
}
