import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/authentication.ts'
import type { HttpServer } from '../../../http/server.ts'
import { actorOf, requireBucket } from './actor.ts'
import type { ByteStore } from './bytes/store.ts'
import { serveObject } from './download/serve.ts'
import { storageErrors } from './errors.ts'
import type { ImageService } from './images/images.ts'
import { isNegotiated, readTransform, type TransformQuery } from './images/transform.ts'
import { readObjectName, readPrefix } from './names.ts'
import type { Copier } from './objects/copy.ts'
import type { Place } from './objects/object-queries.ts'
import type { ObjectService } from './objects/objects.ts'
import type { Uploader } from './objects/upload.ts'
import {
  keyOf,
  type ObjectParams,
  placeOf,
  readCondition,
  readDestination,
  signatureOf,
  splitVerb,
} from './requests.ts'
import * as schemas from './schemas.ts'
import type { AddressService, Signature } from './signing/addresses.ts'

export interface ObjectServices {
  readonly store: ByteStore
  readonly objects: ObjectService
  readonly images: ImageService
  readonly uploader: Uploader
  readonly copier: Copier
  readonly addresses: AddressService
  /** Of objects that everybody may read. */
  readonly publicCacheControl: string
}

interface DownloadQuery extends TransformQuery {
  readonly exp?: string
  readonly sig?: string
  readonly download?: string
}

const maxItems = 500
/** How often an object may be replaced while one request reads it. */
const maxReplacements = 10

/** Objects: listing, downloading, deleting, and what is done with one by the last segment of a path. */
export function objectRoutes(app: HttpServer, services: ObjectServices): void {
  const { store, objects, images, uploader, copier, addresses, publicCacheControl } = services

  app.get(
    '/api/storage/:bucket',
    {
      config: { guard: 'optional', programs: 'read', operation: 'storage.list' },
      schema: schemas.listObjectsSchema,
    },
    async ({ params, query, identity }, reply) => {
      const actor = actorOf(identity)
      requireBucket(actor, params.bucket)
      const { limit = 100, offset = 0, prefix = '', delimiter = '' } = query
      const window = {
        bucket: params.bucket,
        prefix: readPrefix(prefix),
        delimiter: readPrefix(delimiter),
        limit: Math.min(Math.max(limit, 1), maxItems),
        offset: Math.max(offset, 0),
      }
      return reply.send(await objects.list(actor, window))
    },
  )

  /** The object, and how caches may keep it. */
  async function open(request: FastifyRequest, place: Place, signature: Signature | undefined) {
    if (signature !== undefined) {
      return { object: await addresses.openDownload(place, signature), isPublic: false }
    }
    const actor = actorOf(request.identity)
    requireBucket(actor, place.bucket)
    return await objects.getReadable(actor, place.bucket, place.name)
  }

  const download = {
    config: { guard: 'optional', programs: 'read', operation: 'storage.download' },
    schema: schemas.getObjectSchema,
  } as const

  async function answer(
    request: FastifyRequest,
    { params, query }: { readonly params: ObjectParams; readonly query: DownloadQuery },
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const place = placeOf({ params, url: request.url })
    const signature = signatureOf(query)
    const missing = new Set<string>()
    // Bytes that were replaced or evicted between the look at the row and the opening of the file: there are others by now.
    while (missing.size < maxReplacements) {
      const { object, isPublic } = await open(request, place, signature)
      const transform = readTransform(query, object.contentType, request.headers.accept)
      const served =
        transform === undefined
          ? { object, cacheControl: isPublic ? publicCacheControl : 'private, no-cache' }
          : await images.serve(object, transform, isPublic)
      if (served !== undefined) {
        // A shared cache asks the server about a service worker.
        addVary(reply, 'Service-Worker')
        if (isNegotiated(query)) addVary(reply, 'Accept')
        if (await serveObject(store, { ...served, download: query.download }, request, reply)) return reply
      }
      const { key } = served?.object ?? object
      if (missing.has(key)) {
        throw storageErrors.storageUnavailable().with({ detail: `no bytes under the key ${key}` })
      }
      missing.add(key)
    }
    throw storageErrors.storageUnavailable().retryAfter(1)
  }

  // Fastify's own HEAD would read the bytes.
  app.get('/api/storage/:bucket/*', { ...download, exposeHeadRoute: false }, (request, reply) =>
    answer(request, request, reply),
  )
  app.head(
    '/api/storage/:bucket/*',
    { ...download, schema: { ...schemas.getObjectSchema, hide: true } },
    (request, reply) => answer(request, request, reply),
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
      const [path, verb] = splitVerb(request.params['*'], ['sign', 'sign-upload', 'revoke', 'move', 'copy'])
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

function addVary(reply: FastifyReply, name: string): void {
  reply.header('vary', [reply.getHeader('vary'), name].filter((each) => each !== undefined).join(', '))
}
