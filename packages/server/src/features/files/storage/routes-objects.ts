import { identityOf } from '../../../http/access/authentication.ts'
import type { HttpServer } from '../../../http/server.ts'
import { actorOf, requireBucket } from './actor.ts'
import { createDownload, type DownloadDeps } from './download/downloads.ts'
import { readObjectName } from './names.ts'
import type { Copier } from './objects/copy.ts'
import type { ObjectService } from './objects/objects.ts'
import type { Uploader } from './objects/upload.ts'
import { keyOf, placeOf, readCondition, readDestination, readListWindow, splitVerb } from './requests.ts'
import * as schemas from './schemas.ts'
import type { AddressService } from './signing/addresses.ts'

export interface ObjectServices extends DownloadDeps {
  readonly objects: ObjectService
  readonly uploader: Uploader
  readonly copier: Copier
  readonly addresses: AddressService
}

const verbs = ['sign', 'sign-upload', 'revoke', 'move', 'copy'] as const

/** Objects: listing, downloading, deleting, and what is done with one by the last segment of a path. */
export function objectRoutes(app: HttpServer, services: ObjectServices): void {
  const { objects, uploader, copier, addresses } = services

  app.get(
    '/api/storage/:bucket',
    {
      config: { guard: 'optional', programs: 'read', operation: 'storage.list' },
      schema: schemas.listObjectsSchema,
    },
    async ({ params, query, identity }, reply) => {
      const actor = actorOf(identity)
      requireBucket(actor, params.bucket)
      return reply.send(await objects.list(actor, readListWindow(params.bucket, query)))
    },
  )

  const download = createDownload(services)
  const downloadOptions = {
    config: { guard: 'optional', programs: 'read', operation: 'storage.download' },
    schema: schemas.getObjectSchema,
  } as const
  // Fastify's own HEAD would read the bytes.
  app.get('/api/storage/:bucket/*', { ...downloadOptions, exposeHeadRoute: false }, download)
  app.head(
    '/api/storage/:bucket/*',
    { ...downloadOptions, schema: { ...schemas.getObjectSchema, hide: true } },
    download,
  )

  app.delete(
    '/api/storage/:bucket/*',
    {
      config: { guard: 'data', programs: 'write', operation: 'storage.delete' },
      schema: schemas.deleteObjectSchema,
    },
    async (request, reply) => {
      const actor = actorOf(identityOf(request))
      const { bucket } = request.params
      requireBucket(actor, bucket)
      await objects.delete(actor, placeOf(request), {
        condition: readCondition(request),
        key: keyOf(request, reply),
      })
      return reply.code(204).send()
    },
  )

  app.post(
    '/api/storage/:bucket/*',
    {
      config: { guard: 'data', programs: 'write', operation: 'storage.act' },
      schema: schemas.actOnObjectSchema,
    },
    async (request, reply) => {
      const actor = actorOf(identityOf(request))
      const { bucket } = request.params
      requireBucket(actor, bucket)
      const [path, verb] = splitVerb(request.params['*'], verbs)
      const { expiresIn, ...to } = request.body ?? {}
      if (verb === undefined) return reply.callNotFound()
      const place = { bucket, name: readObjectName(path) }
      if (verb === 'sign') return reply.send(await addresses.signDownload(actor, place, expiresIn))
      if (verb === 'revoke') return reply.send(await addresses.revoke(actor, place))
      if (verb === 'sign-upload') {
        await uploader.limitOf(bucket)
        return reply.send(await addresses.signUpload(actor, place, expiresIn))
      }
      const destination = readDestination(place, to)
      requireBucket(actor, destination.bucket)
      const key = keyOf(request, reply)
      return verb === 'move'
        ? reply.send(await copier.move(actor, place, destination, key))
        : reply.code(201).send(await copier.copy(actor, place, destination, key))
    },
  )
}
