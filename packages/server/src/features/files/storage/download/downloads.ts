import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { untilDisconnected } from '../../../../http/responses/disconnection.ts'
import { binary, optionalSecurity, responses } from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import { actorOf, requireBucket } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { ImageClient, ImageService } from '../images/images.ts'
import { isNegotiated, readTransform, transformQuery } from '../images/transform.ts'
import type { ObjectLocation, StoredObject } from '../objects/object-queries.ts'
import type { ObjectService } from '../objects/objects.ts'
import {
  type ObjectParams,
  objectLocationOf,
  objectParams,
  objectPath,
  signatureOf,
  signatureQuery,
} from '../requests.ts'
import type { AddressService } from '../signing/addresses.ts'
import { type Served, serveObject } from './serve.ts'

export interface DownloadDeps {
  readonly store: ByteStore
  readonly objects: Pick<ObjectService, 'getReadable'>
  readonly images: ImageService
  readonly addresses: Pick<AddressService, 'openDownload'>
  /** `Cache-Control` value of objects that everybody may read. */
  readonly publicCacheControl: string
}

const query = Type.Object({
  ...signatureQuery,
  download: Type.Optional(
    Type.String({ description: 'To be saved: under this name, or under its own where it is empty.' }),
  ),
  ...transformQuery,
})

export type DownloadRequest = FastifyRequest & {
  readonly params: ObjectParams
  readonly query: Static<typeof query>
}

/** Maximum number of replacements of an object while one request reads it. */
const maxReplacements = 10

/** Names the caller: a user, or the address. */
function callerOf(request: DownloadRequest): string {
  const { identity } = request
  return identity?.kind === 'user' && identity.userId !== '' ? identity.userId : addressKey(request)
}

/** Adds the routes of downloads: of an object, or an image made of it, for its readers and holders of a signed address. */
export function addDownloads(app: HttpServer, deps: DownloadDeps): void {
  const options = {
    config: { guard: 'optional', programs: 'read', operation: 'storage.download' },
    schema: {
      tags: ['storage'],
      security: optionalSecurity,
      summary: 'Download an object',
      description:
        'With `Range`, `If-None-Match` and the other conditions of RFC 9110. With `w` or `h` a smaller version of a JPEG, PNG or WebP.',
      params: objectParams,
      querystring: query,
      response: responses({
        200: {
          description: 'The content.',
          content: { 'application/octet-stream': { schema: binary } },
        },
      }),
    },
  } as const
  const download = createDownload(deps)
  // Fastify's own HEAD would read the bytes.
  app.get(objectPath, { ...options, exposeHeadRoute: false }, download)
  app.head(objectPath, { ...options, schema: { ...options.schema, hide: true } }, download)
}

function createDownload({ store, objects, images, addresses, publicCacheControl }: DownloadDeps) {
  async function open({ identity, query }: DownloadRequest, location: ObjectLocation) {
    const signature = signatureOf(query)
    if (signature !== undefined) {
      return { object: await addresses.openDownload(location, signature), isPublic: false }
    }
    const actor = actorOf(identity)
    requireBucket(actor, location.bucket)
    return await objects.getReadable(actor, location.bucket, location.name)
  }

  /** @returns undefined when the bytes of an image were replaced since the object was read */
  async function chooseBytes(
    { object, isPublic }: { readonly object: StoredObject; readonly isPublic: boolean },
    { query, headers }: DownloadRequest,
    client: Pick<ImageClient, 'caller' | 'signal'>,
  ): Promise<Omit<Served, 'download'> | undefined> {
    const transform = readTransform(query, object.contentType, headers.accept)
    if (transform !== undefined) return await images.serve(object, transform, { ...client, isPublic })
    return { object, cacheControl: isPublic ? publicCacheControl : 'private, no-cache' }
  }

  return async function download(request: DownloadRequest, reply: FastifyReply): Promise<FastifyReply> {
    const location = objectLocationOf(request.params, request)
    const { query } = request
    const client = { caller: callerOf(request), signal: untilDisconnected(reply) }
    // A shared cache must send requests for a service worker to the server.
    const vary = [reply.getHeader('vary'), 'Service-Worker', isNegotiated(query) ? 'Accept' : undefined]
    const missing = new Set<string>()
    // Bytes may be replaced or evicted between the read of the row and the opening of the file. Other bytes exist by then.
    while (missing.size < maxReplacements) {
      const found = await open(request, location)
      const chosen = await chooseBytes(found, request, client)
      if (chosen !== undefined) {
        reply.header('vary', vary.filter((each) => each !== undefined).join(', '))
        const served = { ...chosen, download: query.download }
        if (await serveObject(store, served, request, reply)) return reply
      }
      const { key } = chosen?.object ?? found.object
      if (missing.has(key)) {
        throw storageErrors.storageUnavailable().with({ detail: `no bytes under the key ${key}` })
      }
      missing.add(key)
    }
    throw storageErrors.storageUnavailable().retryAfter(1)
  }
}
