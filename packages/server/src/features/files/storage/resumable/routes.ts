import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../../http/access/authentication.ts'
import { isBodyAwaited } from '../../../../http/requests/expectation.ts'
import { openSlowBody } from '../../../../http/requests/slow-body.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { actorOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import {
  bringsBytes,
  lengthOf,
  readCount,
  readNewUpload,
  requireChunk,
  requireProtocol,
  single,
  version,
} from './headers.ts'
import * as schemas from './schemas.ts'
import type { ResumableUpload } from './upload-queries.ts'
import type { ResumableService } from './uploads.ts'

export interface ResumableRouteDeps {
  readonly uploads: ResumableService
  readonly maxFileSize: number
  readonly timeoutSeconds: number
}

const path = '/api/storage/upload/resumable'
/** A client that vanishes without closing its connection is cut off before its lease ends. */
const idleMs = 10_000

/** Resumable uploads as tus 1.0 has them (https://tus.io/protocols/resumable-upload). */
export function resumableRoutes(
  app: HttpServer,
  { uploads, maxFileSize, timeoutSeconds }: ResumableRouteDeps,
): void {
  void app.register(async (scope: HttpServer) => {
    scope.removeAllContentTypeParsers()
    // Bodies stay streams.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('tus-resumable', version)
    })

    scope.options(
      path,
      { config: { guard: 'public', operation: 'storage.uploadOptions' }, schema: { hide: true } },
      async (_request, reply) => {
        reply.headers({
          'tus-version': version,
          'tus-extension': 'creation,creation-with-upload,expiration,termination',
          'tus-max-size': String(maxFileSize),
        })
        // The methods of the path are added as for all others.
        return reply.callNotFound()
      },
    )

    scope.post(
      path,
      {
        config: { guard: 'data', programs: 'write', operation: 'storage.beginUpload' },
        schema: schemas.createUploadSchema,
      },
      async (request, reply) => {
        requireProtocol(request)
        const actor = actorOf(identityOf(request))
        const hasBytes = bringsBytes(request)
        const wanted = readNewUpload(request)
        requireBucket(actor, wanted.bucket)
        if (hasBytes && (lengthOf(request) ?? 0) > wanted.size) throw storageErrors.resumableUploadExceeded()
        const created = await uploads.create(actor, wanted)
        const upload = hasBytes ? await add(request, reply, created.id, 0) : created
        return reply
          .code(201)
          .header('location', `${path}/${upload.id}`)
          .headers(progressOf(upload))
          .send(showUpload(upload))
      },
    )

    scope.head(
      `${path}/:id`,
      {
        // It makes the object when a crash left that to be done.
        config: { guard: 'data', programs: 'write', operation: 'storage.findUpload' },
        schema: { ...schemas.findUploadSchema, hide: true },
      },
      async (request, reply) => {
        requireProtocol(request)
        const upload = await uploads.find(actorOf(identityOf(request)), request.params.id)
        const { metadata, size } = upload
        return reply
          .headers({
            ...progressOf(upload),
            'upload-length': String(size),
            'cache-control': 'no-store',
            ...(metadata === null ? {} : { 'upload-metadata': metadata }),
          })
          .send()
      },
    )

    scope.patch(
      `${path}/:id`,
      {
        config: { guard: 'data', programs: 'write', operation: 'storage.addToUpload' },
        schema: schemas.addToUploadSchema,
      },
      addChunk,
    )

    scope.delete(
      `${path}/:id`,
      {
        config: { guard: 'data', programs: 'write', operation: 'storage.endUpload' },
        schema: schemas.terminateUploadSchema,
      },
      terminate,
    )

    // For clients between which and the server no other methods pass (tus, X-HTTP-Method-Override).
    scope.post(
      `${path}/:id`,
      {
        config: { guard: 'data', programs: 'write', operation: 'storage.overrideUploadMethod' },
        schema: schemas.overrideUploadMethodSchema,
      },
      (request, reply) => {
        const method = single(request.headers['x-http-method-override'])?.toUpperCase()
        if (method === 'PATCH') return addChunk(request, reply)
        if (method === 'DELETE') return terminate(request, reply)
        throw storageErrors.invalidUploadHeader('X-HTTP-Method-Override', 'expected PATCH or DELETE')
      },
    )
  })

  async function addChunk(request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
    requireProtocol(request)
    requireChunk(request)
    const offset = readCount(request, 'Upload-Offset')
    const upload = await add(request, reply, request.params.id, offset)
    return reply.code(204).headers(progressOf(upload)).send()
  }

  async function terminate(request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
    requireProtocol(request)
    await uploads.terminate(actorOf(identityOf(request)), request.params.id)
    return reply.code(204).send()
  }

  /** The body is opened before anything is waited for: of a request that is cut meanwhile, what came is there. */
  async function add(request: FastifyRequest, reply: FastifyReply, id: string, offset: number) {
    const length = lengthOf(request)
    const actor = actorOf(identityOf(request))
    if (isBodyAwaited(request.raw)) await uploads.requireFitting(actor, id, { offset, length })
    const source = openSlowBody({
      socket: request.raw.socket,
      // Streams stay as they are, and without a content type there is none.
      payload: (request.body ?? request.raw) as Readable,
      timeoutMs: timeoutSeconds * 1000,
      endsAfterIdleMs: idleMs,
      timedOut: () => {
        // The rest of the body is not waited for.
        reply.raw.setHeader('connection', 'close')
        return storageErrors.uploadTimedOut()
      },
    })
    try {
      return await uploads.add(actor, id, { offset, length, source })
    } finally {
      source.destroy()
    }
  }
}

type UploadRequest = FastifyRequest & { readonly params: { readonly id: string } }

function progressOf({ received, expires_at: expiresAt }: ResumableUpload) {
  return {
    'upload-offset': String(received),
    'upload-expires': new Date(expiresAt * 1000).toUTCString(),
  }
}

function showUpload({ id, bucket, name, size, state, expires_at: expiresAt }: ResumableUpload) {
  return {
    id,
    bucket,
    name,
    totalSize: size,
    status: state === 'completed' ? 'completed' : 'active',
    expiresAt: Math.floor(expiresAt),
    uploadType: 'resumable',
  }
}
