import { originOf } from '../../http/requests/request-origin.ts'
import type { HttpServer } from '../../http/server.ts'
import * as schemas from './schemas.ts'
import type { StructureService } from './service.ts'

const path = '/api/admin/structure'

/** Administration of tables and what belongs to them. */
export function structureRoutes(app: HttpServer, structure: StructureService): void {
  app.get(
    `${path}/relations`,
    { config: { guard: 'admin', operation: 'structure.list' }, schema: schemas.listRelationsSchema },
    async (request, reply) => {
      const { schema, q, afterSchema, afterName = '', limit = schemas.relationLimit.fallback } = request.query
      const page = await structure.list({
        schema,
        q,
        after: afterSchema === undefined ? undefined : [afterSchema, afterName],
        limit: Math.min(Math.max(limit, 1), schemas.relationLimit.most),
      })
      return reply.send({ ...page, items: [...page.items] })
    },
  )

  app.get(
    `${path}/relations/:schema/:name`,
    { config: { guard: 'admin', operation: 'structure.get' }, schema: schemas.getRelationSchema },
    async (request, reply) => reply.send(await structure.get(request.params.schema, request.params.name)),
  )

  app.get(
    `${path}/diagram`,
    { config: { guard: 'admin', operation: 'structure.diagram' }, schema: schemas.getDiagramSchema },
    async (request, reply) => {
      const { schema, aroundSchema = 'public', aroundName } = request.query
      const around = aroundName === undefined ? undefined : { schema: aroundSchema, name: aroundName }
      const { tables, references, count } = await structure.diagram({ schema, around })
      return reply.send({ count, tables: [...tables], references: [...references] })
    },
  )

  app.get(
    `${path}/objects`,
    { config: { guard: 'admin', operation: 'structure.objects' }, schema: schemas.getObjectsSchema },
    async (_request, reply) => reply.send(await structure.objects()),
  )

  app.post(
    `${path}/plan`,
    { config: { guard: 'admin', operation: 'structure.plan' }, schema: schemas.planSchema },
    async (request, reply) => reply.send(await structure.plan(request.body, originOf(request))),
  )

  app.post(
    `${path}/apply`,
    { config: { guard: 'admin', operation: 'structure.apply' }, schema: schemas.applySchema },
    async (request, reply) => reply.send(await structure.apply(request.body, originOf(request))),
  )

  app.get(
    `${path}/migrations`,
    { config: { guard: 'admin', operation: 'structure.migrations' }, schema: schemas.listMigrationsSchema },
    async (_request, reply) => reply.send(await structure.listMigrations()),
  )

  app.get(
    `${path}/migrations/:name`,
    { config: { guard: 'admin', operation: 'structure.migration' }, schema: schemas.getMigrationSchema },
    async (request, reply) => reply.send(await structure.getMigration(request.params.name)),
  )
}
