import type { FastifyRequest } from 'fastify'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { created, operation } from '../../../../http/operation.ts'
import { binary, bodyOf, multipartBody } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { actorOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { bucketParams, objectName, readObjectName } from '../names.ts'
import { StorageObject } from '../object.ts'
import {
  keyOf,
  objectHeaders,
  objectLocationOf,
  objectParams,
  objectPath,
  readCondition,
  signatureOf,
  signatureQuery,
  withBody,
} from '../requests.ts'
import type { AddressService, Signature } from '../signing/addresses.ts'
import type { Uploader } from './upload.ts'
import { readUploadForm } from './upload-form.ts'

export interface UploadDeps {
  readonly uploader: Uploader
  readonly addresses: Pick<AddressService, 'openUpload' | 'requireUpload'>
}

const common = { guard: 'data', programs: 'write', tag: 'storage', headers: objectHeaders } as const

const uploadForm = operation({
  ...common,
  id: 'storage.upload',
  method: 'POST',
  path: '/api/storage/:bucket',
  summary: 'Upload an object as a form',
  description:
    'Parts: `file`, and `name` unless the file name of the part is that. Replaces the object of this name, where policies permit it.',
  params: bucketParams,
  documentedBody: multipartBody(Type.Object({ name: Type.Optional(objectName), file: binary })),
  success: created(StorageObject),
  async handle({ uploader }: UploadDeps, { params: { bucket }, identity, http }, reply) {
    const actor = actorOf(identity)
    requireBucket(actor, bucket)
    await uploader.limitOf(bucket)
    const key = keyOf(http, reply)
    requirePlain(http)
    const limits = { seconds: uploader.timeoutSeconds }
    const { object, etag } = await withBody(http, reply, limits, (body) =>
      readUploadForm(body, http.headers, (file) =>
        uploader.receive(actor, {
          bucket,
          name: async () => readObjectName(await file.name()),
          // Content type that browsers give a file of no known type (RFC 7578 §4.4).
          declaredType: file.type === 'application/octet-stream' ? undefined : file.type,
          source: file.source,
          key,
        }),
      ),
    )
    reply.header('etag', `"${etag}"`)
    return object
  },
})

const put = operation({
  ...common,
  id: 'storage.put',
  method: 'PUT',
  path: objectPath,
  summary: 'Upload an object as it is',
  description:
    'The body is the content. `If-None-Match: *` does not replace an object, `If-Match` only the one with that tag.',
  // A signed address says itself for whom it works. The query is an object, whatever is in it.
  admitsAnonymous: ({ query }) => signatureOf(query as Partial<Signature>) !== undefined,
  params: objectParams,
  query: Type.Object(signatureQuery),
  documentedBody: bodyOf('application/octet-stream', binary),
  success: created(StorageObject),
  otherResponses: { 200: StorageObject },
  async handle({ uploader, addresses }: UploadDeps, { params, query, identity, http }, reply) {
    const location = objectLocationOf(params, http)
    const signature = signatureOf(query)
    const actor =
      signature === undefined ? actorOf(identity) : await addresses.openUpload(location, signature)
    requireBucket(actor, location.bucket)
    const limit = await uploader.limitOf(location.bucket)
    // Said before the client sends it.
    if (Number(http.headers['content-length']) > limit) throw storageErrors.fileTooLarge(limit)
    const key = keyOf(http, reply)
    requirePlain(http)
    const limits = { seconds: uploader.timeoutSeconds }
    const { object, etag, isNew } = await withBody(http, reply, limits, (source) =>
      uploader.receive(actor, {
        requireAllowed: signature && (() => addresses.requireUpload(location, signature)),
        bucket: location.bucket,
        name: async () => location.name,
        declaredType: http.headers['content-type'],
        source,
        condition: readCondition(http),
        key,
      }),
    )
    if (!isNew) reply.code(200)
    reply.header('etag', `"${etag}"`)
    return object
  },
})

/** Uploads in one request, as a form or as they are. Their scope accepts streams. */
export const uploadOperations = [uploadForm, put]

/** Rejects content that would be stored encoded, and sent without saying so. @throws AppError unsupported_content_encoding */
function requirePlain({ headers }: FastifyRequest): void {
  if (headers['content-encoding'] !== undefined) throw httpErrors.unsupportedContentEncoding('identity')
}
