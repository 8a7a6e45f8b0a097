import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/authentication.ts'
import { httpErrors } from '../../../http/errors.ts'
import type { HttpServer } from '../../../http/server.ts'
import { openSlowBody } from '../../../http/slow-body.ts'
import { type Actor, actorOf, requireBucket } from './actor.ts'
import type { ByteStore } from './bytes/store.ts'
import { serveObject } from './download/serve.ts'
import { storageErrors } from './errors.ts'
import type { ImageService } from './images/images.ts'
import { isNegotiated, readTransform, type TransformQuery } from './images/transform.ts'
import { readObjectName, readPrefix } from './names.ts'
import type { Copier } from './objects/copy.ts'
import type { Place, StoredObject, WriteCondition } from './objects/object-queries.ts'
import type { ObjectService } from './objects/objects.ts'
import type { Uploader } from './objects/upload.ts'
import { readUploadForm } from './objects/upload-form.ts'
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

interface ObjectParams {
  readonly bucket: string
  readonly '*': string
}

interface DownloadQuery extends TransformQuery {
  readonly exp?: string
  readonly sig?: string
  readonly download?: string
}

const maxItems = 500

/** Objects: listing, uploading, downloading, deleting, and what is done with one by the last segment of a path. */
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
    const place = placeOf(params)
    const signature = signatureOf(query)
    let missing: StoredObject | undefined
    // Bytes that were replaced between the look at the row and the opening of the file: the row has others by now.
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const { object, isPublic } = await open(request, place, signature)
      missing = object
      const transform = readTransform(query, object.contentType, request.headers.accept)
      const served =
        transform === undefined
          ? { object, cacheControl: isPublic ? publicCacheControl : 'private, no-cache' }
          : await images.serve(object, transform, isPublic)
      if (served === undefined) continue
      if (isNegotiated(query)) addVary(reply, 'Accept')
      const sent = await serveObject(store, { ...served, download: query.download }, request, reply)
      if (sent !== undefined) return sent
    }
    throw storageErrors.storageUnavailable().with({ detail: `no bytes under the key ${missing?.key}` })
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
      await objects.delete(actor, placeOf(request.params), readTags(request.headers['if-match']))
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
      return verb === 'move'
        ? reply.send(await copier.move(actor, place, destination))
        : reply.code(201).send(await copier.copy(actor, place, destination))
    },
  )

  void app.register(async (scope: HttpServer) => {
    scope.removeAllContentTypeParsers()
    // Bodies stay streams.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

    const bodyOf = (request: FastifyRequest, reply: FastifyReply) => {
      // It would be stored encoded, and sent without saying so.
      if (request.headers['content-encoding'] !== undefined) throw httpErrors.unsupportedContentEncoding()
      return openSlowBody({
        socket: request.raw.socket,
        // Without a body there is no content type and no parser ran.
        payload: (request.body ?? request.raw) as Readable,
        timeoutMs: uploader.timeoutSeconds * 1000,
        timedOut: () => {
          // The rest of the body is not waited for.
          reply.raw.setHeader('connection', 'close')
          return storageErrors.uploadTimedOut()
        },
      })
    }

    scope.post(
      '/api/storage/:bucket',
      {
        config: { guard: 'data', programs: 'write', operation: 'storage.upload' },
        schema: schemas.uploadFormSchema,
      },
      async (request, reply) => {
        const actor = actorOf(identityOf(request))
        const { bucket } = request.params
        requireBucket(actor, bucket)
        await uploader.limitOf(bucket)
        const { object, etag } = await readUploadForm(bodyOf(request, reply), request.headers, (file) =>
          uploader.receive(actor, {
            bucket,
            name: async () => readObjectName(await file.name()),
            declaredType: file.type,
            source: file.source,
          }),
        )
        return reply.code(201).header('etag', `"${etag}"`).send(object)
      },
    )

    scope.put(
      '/api/storage/:bucket/*',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'storage.put',
          // A signed address says itself for whom it works.
          admitsAnonymous: ({ query }) => signatureOf(query as Partial<Signature>) !== undefined,
        },
        schema: schemas.putObjectSchema,
      },
      async (request, reply) => {
        const place = placeOf(request.params)
        const actor = await uploaderOf(request, place, signatureOf(request.query))
        requireBucket(actor, place.bucket)
        const limit = await uploader.limitOf(place.bucket)
        // Said before the client sends it.
        if (Number(request.headers['content-length']) > limit) throw storageErrors.fileTooLarge(limit)
        const { object, etag, isNew } = await uploader.receive(actor, {
          bucket: place.bucket,
          name: async () => place.name,
          declaredType: request.headers['content-type'],
          source: bodyOf(request, reply),
          condition: readCondition(request),
        })
        return send(reply, isNew, etag).send(object)
      },
    )
  })

  async function uploaderOf(
    request: FastifyRequest,
    place: Place,
    signature: Signature | undefined,
  ): Promise<Actor> {
    return signature === undefined
      ? actorOf(identityOf(request))
      : await addresses.openUpload(place, signature)
  }
}

function send(reply: FastifyReply, isNew: boolean, etag: string): FastifyReply {
  return reply.code(isNew ? 201 : 200).header('etag', `"${etag}"`)
}

/** The path is decoded once, by the router. */
function placeOf({ bucket, '*': path }: ObjectParams): Place {
  return { bucket, name: readObjectName(path) }
}

/** `a/b/sign` → `a/b` and `sign`. */
function splitVerb<Verb extends string>(path: string, verbs: readonly Verb[]): [string, Verb | undefined] {
  const verb = verbs.find((each) => path.endsWith(`/${each}`))
  return verb === undefined ? [path, undefined] : [path.slice(0, -verb.length - 1), verb]
}

function signatureOf({
  exp,
  sig,
}: {
  readonly exp?: string | undefined
  readonly sig?: string | undefined
}): Signature | undefined {
  return exp === undefined && sig === undefined ? undefined : { exp, sig: sig ?? '' }
}

/** @throws AppError invalid_destination, invalid_object_name */
function readDestination(
  from: Place,
  { bucket = from.bucket, name }: { readonly bucket?: string; readonly name?: string },
): Place {
  if (name === undefined) throw storageErrors.invalidDestination('name is required')
  return { bucket, name: readObjectName(name) }
}

/** Strong tags without their quotes (RFC 9110 §13.1.1); undefined for any. */
function readTags(header: string | undefined): readonly string[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  return header.split(',').flatMap((each) => /^"([^"]*)"$/.exec(each.trim())?.[1] ?? [])
}

function readCondition({ headers }: FastifyRequest): WriteCondition {
  const ifMatch = headers['if-match'] === undefined ? undefined : (readTags(headers['if-match']) ?? '*')
  return { ifMatch, isNew: headers['if-none-match']?.trim() === '*' }
}

function addVary(reply: FastifyReply, name: string): void {
  reply.header('vary', [reply.getHeader('vary'), name].filter((each) => each !== undefined).join(', '))
}
