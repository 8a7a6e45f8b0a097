import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { BucketService } from './buckets/buckets.ts'
import type { TemplateService } from './policies/templates.ts'
import type { QuotaService } from './quotas/quotas.ts'
import * as schemas from './schemas.ts'

export interface AdminServices {
  readonly buckets: BucketService
  readonly quotas: QuotaService
  readonly templates: TemplateService
}

/** What administrators do: buckets, quotas, policies. */
export function adminRoutes(app: HttpServer, { buckets, quotas, templates }: AdminServices): void {
  app.get(
    '/api/storage/buckets',
    { config: { guard: 'admin', operation: 'storage.listBuckets' }, schema: schemas.listBucketsSchema },
    async (_request, reply) => reply.send({ items: await buckets.list() }),
  )

  app.post(
    '/api/storage/buckets',
    { config: { guard: 'admin', operation: 'storage.createBucket' }, schema: schemas.createBucketSchema },
    async (request, reply) => reply.code(201).send(await buckets.create(request.body, originOf(request))),
  )

  app.put(
    '/api/storage/buckets/:bucket',
    { config: { guard: 'admin', operation: 'storage.updateBucket' }, schema: schemas.updateBucketSchema },
    async (request, reply) =>
      reply.send(await buckets.update(request.params.bucket, request.body, originOf(request))),
  )

  app.delete(
    '/api/storage/buckets/:bucket',
    { config: { guard: 'admin', operation: 'storage.deleteBucket' }, schema: schemas.deleteBucketSchema },
    async (request, reply) => {
      await buckets.delete(request.params.bucket, request.query.force === 'true', originOf(request))
      return reply.code(204).send()
    },
  )

  app.get(
    '/api/admin/users/:id/storage-quota',
    { config: { guard: 'admin', operation: 'storage.getQuota' }, schema: schemas.getQuotaSchema },
    async (request, reply) => reply.send(await quotas.find(request.params.id)),
  )

  app.put(
    '/api/admin/users/:id/storage-quota',
    { config: { guard: 'admin', operation: 'storage.setQuota' }, schema: schemas.setQuotaSchema },
    async (request, reply) =>
      reply.send(await quotas.set(request.params.id, request.body.quota_mb, originOf(request))),
  )

  app.post(
    '/api/admin/rls/templates/storage-objects/:template',
    { config: { guard: 'admin', operation: 'storage.applyTemplate' }, schema: schemas.applyTemplateSchema },
    async (request, reply) =>
      reply
        .code(201)
        .send(await templates.apply(request.params.template, request.body?.bucket, originOf(request))),
  )
}
