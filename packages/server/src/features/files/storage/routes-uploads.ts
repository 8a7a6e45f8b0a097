import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { openSlowBody } from '../../../http/requests/slow-body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { type Actor, actorOf, requireBucket } from './actor.ts'
import { storageErrors } from './errors.ts'
import { readObjectName } from './names.ts'
import type { Place } from './objects/object-queries.ts'
import type { Uploader } from './objects/upload.ts'
import { readUploadForm } from './objects/upload-form.ts'
import { keyOf, placeOf, readCondition, signatureOf } from './requests.ts'
import * as schemas from './schemas.ts'
import type { AddressService, Signature } from './signing/addresses.ts'

export interface UploadServices {
  readonly uploader: Uploader
  readonly addresses: Pick<AddressService, 'openUpload' | 'requireUpload'>
}

/** Uploads in one request, as a form or as they are. Bodies stay streams. */
export function uploadRoutes(app: HttpServer, { uploader, addresses }: UploadServices): void {
  async function uploaderOf(
    request: FastifyRequest,
    place: Place,
    signature: Signature | undefined,
  ): Promise<Actor> {
    return signature === undefined
      ? actorOf(identityOf(request))
      : await addresses.openUpload(place, signature)
  }

  /** Hands the body on, and drops what is left of it when the work has ended. */
  async function withBody<Result>(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (body: Readable) => Promise<Result>,
  ): Promise<Result> {
    // It would be stored encoded, and sent without saying so.
    if (request.headers['content-encoding'] !== undefined) throw httpErrors.unsupportedContentEncoding()
    const body = openSlowBody({
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
    try {
      return await work(body)
    } finally {
      body.destroy()
    }
  }

  void app.register(async (scope: HttpServer) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))

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
        const key = keyOf(request, reply)
        const { object, etag } = await withBody(request, reply, (body) =>
          readUploadForm(body, request.headers, (file) =>
            uploader.receive(actor, {
              bucket,
              name: async () => readObjectName(await file.name()),
              // What browsers call a file of no known type (RFC 7578 §4.4).
              declaredType: file.type === 'application/octet-stream' ? undefined : file.type,
              source: file.source,
              key,
            }),
          ),
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
          // A signed address says itself for whom it works. The query is an object, whatever is in it.
          admitsAnonymous: ({ query }) => signatureOf(query as Partial<Signature>) !== undefined,
        },
        schema: schemas.putObjectSchema,
      },
      async (request, reply) => {
        const place = placeOf(request)
        const signature = signatureOf(request.query)
        const actor = await uploaderOf(request, place, signature)
        requireBucket(actor, place.bucket)
        const limit = await uploader.limitOf(place.bucket)
        // Said before the client sends it.
        if (Number(request.headers['content-length']) > limit) throw storageErrors.fileTooLarge(limit)
        const key = keyOf(request, reply)
        const requireAllowed =
          signature === undefined ? undefined : () => addresses.requireUpload(place, signature)
        const { object, etag, isNew } = await withBody(request, reply, (source) =>
          uploader.receive(actor, {
            requireAllowed,
            bucket: place.bucket,
            name: async () => place.name,
            declaredType: request.headers['content-type'],
            source,
            condition: readCondition(request),
            key,
          }),
        )
        return reply
          .code(isNew ? 201 : 200)
          .header('etag', `"${etag}"`)
          .send(object)
      },
    )
  })
}
