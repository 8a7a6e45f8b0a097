import type { FastifyReply, FastifyRequest } from 'fastify'
import { addOperations, created, noContent, operation } from '../../../../http/operation.ts'
import { acceptStreams } from '../../../../http/requests/body.ts'
import { isBodyAwaited } from '../../../../http/requests/expectation.ts'
import {
  binary,
  bodyOf,
  checkedByHandler,
  choice,
  component,
  requiredByHandler,
} from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { Type } from '../../../../lib/type.ts'
import { actorOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { objectName } from '../names.ts'
import { withBody } from '../requests.ts'
import {
  bringsBytes,
  chunkType,
  lengthOf,
  readCount,
  readNewUpload,
  requireChunk,
  requireProtocol,
  single,
  version,
} from './headers.ts'
import { getOwn } from './lease.ts'
import { deleteUpload, type ResumableUpload } from './upload-queries.ts'
import { addBytes, beginUpload, completeIfDue, type ResumableDeps, requireFitting } from './uploads.ts'

const path = '/api/storage/upload/resumable'
/** A client that vanishes without closing its connection is cut off before its lease ends. */
const idleMs = 10_000

const common = { guard: 'data', programs: 'write', tag: 'storage' } as const
const params = Type.Object({ id: Type.String({ description: 'UUID of the upload.' }) })

/** Returns a header that the handler requires, for messages of its own. */
const header = (keywords: Readonly<Record<string, unknown>>, description: string) =>
  requiredByHandler(checkedByHandler(keywords, Type.String({ description })))
const protocol = { 'tus-resumable': header({ enum: [version] }, 'Version of the protocol.') }
const count = { pattern: '^\\d{1,15}$' }
const offset = {
  'upload-offset': header(count, 'Number of bytes received so far. The body is appended there.'),
}

const begin = operation({
  ...common,
  id: 'storage.beginUpload',
  method: 'POST',
  path,
  summary: 'Begin a resumable upload',
  description:
    'The protocol is tus 1.0 with the extensions creation, creation-with-upload, expiration and termination. `Location` says where the bytes go. Without `name` the object has the name of `name` or `filename` of `Upload-Metadata`.',
  query: Type.Object({
    bucket: requiredByHandler(Type.String()),
    name: Type.Optional(objectName),
  }),
  headers: Type.Object({
    ...protocol,
    'upload-length': header(count, 'Bytes of the whole upload.'),
    'upload-metadata': Type.Optional(
      Type.String({ description: 'Pairs of a key and a Base64 value, between commas.' }),
    ),
  }),
  documentedBody: bodyOf(chunkType, binary, false),
  success: created(
    component(
      'ResumableUpload',
      Type.Object({
        id: Type.String({ format: 'uuid' }),
        bucket: Type.String(),
        name: Type.String(),
        totalSize: Type.Integer({ description: 'Bytes.' }),
        status: choice(['active', 'completed']),
        expiresAt: Type.Integer({ description: 'Seconds since 1970; 24 hours after the last bytes came.' }),
        uploadType: choice(['resumable']),
      }),
    ),
  ),
  async handle(deps: ResumableDeps, { http, query, identity }, reply) {
    requireProtocol(http)
    const actor = actorOf(identity)
    const hasBytes = bringsBytes(http)
    const wanted = readNewUpload({ query, headers: http.headers })
    requireBucket(actor, wanted.bucket)
    if (hasBytes && (lengthOf(http) ?? 0) > wanted.size) throw storageErrors.resumableUploadExceeded()
    const begun = await beginUpload(deps, actor, wanted)
    const upload = hasBytes ? await add(deps, http, reply, begun.id, 0) : begun
    reply.header('location', `${path}/${upload.id}`).headers(progressOf(upload))
    const { id, bucket, name, size, state, expires_at: expiresAt } = upload
    const status = state === 'completed' ? state : ('active' as const)
    const uploadType = 'resumable' as const
    return { id, bucket, name, totalSize: size, status, expiresAt: Math.floor(expiresAt), uploadType }
  },
})

const addTo = operation({
  ...common,
  id: 'storage.addToUpload',
  method: 'PATCH',
  path: `${path}/:id`,
  summary: 'Add bytes to a resumable upload',
  description:
    'From `Upload-Offset` on. Bytes received before the request is cut are kept. HEAD returns their number. The last bytes make the object.',
  params,
  headers: Type.Object({ ...protocol, ...offset }),
  documentedBody: bodyOf(chunkType, binary),
  success: noContent,
  handle: (deps: ResumableDeps, { params, http }, reply) => addChunk(deps, http, reply, params.id),
})

const end = operation({
  ...common,
  id: 'storage.endUpload',
  method: 'DELETE',
  path: `${path}/:id`,
  summary: 'End a resumable upload',
  description: 'An object that it has become stays.',
  params,
  headers: Type.Object(protocol),
  success: noContent,
  handle: (deps: ResumableDeps, { params, http }) => terminate(deps, http, params.id),
})

/** Method override for clients behind a proxy that blocks other methods (tus, X-HTTP-Method-Override). */
const override = operation({
  ...common,
  id: 'storage.overrideUploadMethod',
  method: 'POST',
  path: `${path}/:id`,
  summary: 'Add to or end a resumable upload, by POST',
  description:
    'For clients whose network blocks other methods. The server runs the method in `X-HTTP-Method-Override`, PATCH or DELETE.',
  params,
  headers: Type.Object({
    ...protocol,
    'x-http-method-override': header({ enum: ['PATCH', 'DELETE'] }, 'Method that is meant.'),
    'upload-offset': Type.Optional(Type.String({ description: 'With PATCH.' })),
  }),
  documentedBody: bodyOf(chunkType, binary),
  success: noContent,
  handle(deps: ResumableDeps, { params, http }, reply) {
    const method = single(http.headers['x-http-method-override'])?.toUpperCase()
    if (method === 'PATCH') return addChunk(deps, http, reply, params.id)
    if (method === 'DELETE') return terminate(deps, http, params.id)
    throw storageErrors.invalidUploadHeader('X-HTTP-Method-Override', 'expected PATCH or DELETE')
  },
})

/** Adds the routes of resumable uploads as tus 1.0 has them (https://tus.io/protocols/resumable-upload). */
export function addResumableUploads(app: HttpServer, deps: ResumableDeps, maxFileSize: number): void {
  void app.register(async (scope: HttpServer) => {
    acceptStreams(scope)
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('tus-resumable', version)
    })
    addOperations(scope, deps, [begin, addTo, end, override])
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
    scope.head(
      `${path}/:id`,
      {
        // It makes the object when a crash left that to be done.
        config: { guard: 'data', programs: 'write', operation: 'storage.findUpload' },
        schema: { params, hide: true },
      },
      async (request, reply) => {
        requireProtocol(request)
        const actor = actorOf(request.identity)
        const found = await getOwn(deps.database, actor, request.params.id)
        const upload = await completeIfDue(deps, actor, found)
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
  })
}

async function addChunk(
  deps: ResumableDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
): Promise<void> {
  requireProtocol(request)
  requireChunk(request)
  const upload = await add(deps, request, reply, id, readCount(request, 'Upload-Offset'))
  reply.headers(progressOf(upload))
}

/** Ends an upload, also while a request adds to it. */
async function terminate(
  { database, reaper }: ResumableDeps,
  request: FastifyRequest,
  id: string,
): Promise<void> {
  requireProtocol(request)
  const actor = actorOf(request.identity)
  await getOwn(database, actor, id)
  if (!(await deleteUpload(database, actor, id))) throw storageErrors.resumableUploadNotFound()
  reaper.wake()
}

/**
 * Adds the body of a request to an upload. The body is opened before anything is awaited, so that the bytes received are kept
 * when the request is cut meanwhile.
 */
async function add(
  deps: ResumableDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
  offset: number,
): Promise<ResumableUpload> {
  const length = lengthOf(request)
  const seconds = deps.uploader.timeoutSeconds
  const actor = actorOf(request.identity)
  if (isBodyAwaited(request.raw)) await requireFitting(deps, actor, id, { offset, length })
  return await withBody(request, reply, { seconds, endsAfterIdleMs: idleMs }, (source) =>
    addBytes(deps, actor, id, { offset, length, source }),
  )
}

function progressOf({ received, expires_at: expiresAt }: ResumableUpload) {
  return {
    'upload-offset': String(received),
    'upload-expires': new Date(expiresAt * 1000).toUTCString(),
  }
}
