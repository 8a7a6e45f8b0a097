import { createHash } from 'node:crypto'
import { translateDatabaseFailure } from '../../../../../database/errors/error-translation.ts'
import type { SystemDatabase } from '../../../../../database/system-database.ts'
import { addOperations, created, ok, operation } from '../../../../../http/operation.ts'
import { acceptRaw } from '../../../../../http/requests/body.ts'
import { binary, checkedByHandler, multipartBody } from '../../../../../http/schemas.ts'
import type { HttpServer } from '../../../../../http/server.ts'
import { AppError, codeOf } from '../../../../../lib/errors.ts'
import { type Static, Type } from '../../../../../lib/type.ts'
import { withoutNulls } from '../../../../../lib/without-nulls.ts'
import { contentTypeOf } from '../../content-type.ts'
import { siteErrors } from '../../errors.ts'
import { compress } from '../compress.ts'
import { Deploy, failDeploy } from '../deploy.ts'
import { readFilePath } from '../file-path.ts'
import * as queries from '../file-queries.ts'
import { readUploadForm } from '../upload-form.ts'
import { deployPath, getDeploy, deployParams as params } from './deploys.ts'

export interface FileDeps {
  readonly database: SystemDatabase
  readonly maxFileSize: number
}

const common = { guard: 'admin', permission: 'content.write', tag: 'sites', method: 'POST', params } as const

const ManifestFile = Type.Object({
  path: Type.String(),
  sha256: checkedByHandler(
    { pattern: '^[0-9A-Fa-f]{64}$' },
    Type.String({ description: 'SHA-256 of the content, in hexadecimal.' }),
  ),
  size: checkedByHandler({ minimum: 0 }, Type.Integer()),
})

const addManifest = operation({
  ...common,
  id: 'sites.addFiles',
  path: `${deployPath}/manifest`,
  summary: 'Add files with known content to a deploy',
  description:
    'Adds the files whose content is stored. Returns the hashes of the others, which must be uploaded.',
  body: Type.Object({ files: Type.Array(ManifestFile, { maxItems: 50_000 }) }),
  bodyLimit: 16 * 1024 * 1024,
  success: ok(Type.Object({ missing: Type.Array(Type.String()) })),
  async handle({ database }: FileDeps, { params: { siteId, deployId }, body: { files } }) {
    await requireUploading(database, siteId, deployId)
    // The last entry of a path counts, as with uploads.
    const hashOfPath = new Map(files.map((file, index) => [readPath(file, index), file.sha256.toLowerCase()]))
    const hashes = [...new Set(files.map(({ sha256 }) => sha256.toLowerCase()))]
    return await database.transaction(async (transaction) => {
      if (!(await queries.lockUploading(transaction, siteId, deployId))) throw siteErrors.deployClosed()
      const stored = await queries.findBlobs(
        transaction,
        hashes.map((hash) => Buffer.from(hash, 'hex')),
      )
      const known = new Map(stored.map((blob) => [blob.sha256.toString('hex'), blob]))
      const found = [...hashOfPath].flatMap(([path, hash]) => {
        const blob = known.get(hash)
        return blob === undefined ? [] : [{ path, ...blob, contentType: contentTypeOf(path) }]
      })
      if (found.length > 0) await queries.putFiles(transaction, deployId, found)
      return { missing: hashes.filter((hash) => !known.has(hash)) }
    })
  },
})

/** Form bytes besides the file content: boundaries, headers and the name. */
const formBytes = 16 * 1024

const upload = operation({
  ...common,
  id: 'sites.uploadFile',
  path: `${deployPath}/files`,
  summary: 'Upload a file to a deploy',
  description:
    'Parts: `file`, and `name` with the path within the site. `name` may be missing if the file name of the part is the path.',
  documentedBody: multipartBody(Type.Object({ name: Type.Optional(Type.String()), file: binary })),
  bodyLimit: ({ maxFileSize }: FileDeps) => maxFileSize + formBytes,
  success: created(Deploy),
  async handle({ database, maxFileSize }: FileDeps, { params: { siteId, deployId }, body, http }) {
    await requireUploading(database, siteId, deployId)
    const form = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    const {
      path,
      bytes,
      contentType: uploadType,
    } = await readUploadForm(form, http.headers['content-type'] ?? '')
    if (bytes.length > maxFileSize) throw siteErrors.siteFileTooLarge(maxFileSize)
    const contentType = contentTypeOf(path, uploadType)
    const sha256 = createHash('sha256').update(bytes).digest()
    const isStored = await queries.hasBlob(database, sha256)
    const compressed = isStored ? { brotli: null, gzip: null } : await compress(bytes, contentType)
    const storing = database.transaction(async (transaction) => {
      // Inserts before the lock, so that other uploads wait only for the deploy row.
      await queries.insertBlob(transaction, sha256, bytes, compressed)
      if (!(await queries.lockUploading(transaction, siteId, deployId))) throw siteErrors.deployClosed()
      const file = { path, sha256, size: bytes.length, contentType }
      return withoutNulls<Deploy>(await queries.putFiles(transaction, deployId, [file]))
    })
    return await storing.catch((error) => failUpload(database, siteId, deployId, error))
  },
})

/** Adds the file routes of deploys. */
export function fileRoutes(app: HttpServer, deps: FileDeps): void {
  addOperations(app, deps, [addManifest])
  void app.register(async (scope: HttpServer) => {
    acceptRaw(scope)
    scope.setErrorHandler((error, _request, reply) => {
      const isTooLarge = codeOf(error) === 'FST_ERR_CTP_BODY_TOO_LARGE'
      return reply.send(isTooLarge ? siteErrors.siteFileTooLarge(deps.maxFileSize) : error)
    })
    addOperations(scope, deps, [upload])
  })
}

/** Rejects uploads to closed deploys before the work. The lock checks again afterwards. */
async function requireUploading(database: SystemDatabase, siteId: string, id: string): Promise<void> {
  const { status } = await getDeploy(database, siteId, id)
  if (status !== 'uploading') throw siteErrors.deployClosed()
}

/**
 * Fails the deploy. After transient errors, such as a database restart, it stays open and the client can repeat the
 * upload.
 */
async function failUpload(
  database: SystemDatabase,
  siteId: string,
  id: string,
  error: unknown,
): Promise<never> {
  const status = translateDatabaseFailure(error)?.status ?? 500
  if (error instanceof AppError || [409, 503, 504].includes(status)) throw error
  const failure = siteErrors.deployUploadFailed()
  await failDeploy(database, siteId, id, failure.message)
  throw failure.with({ cause: error })
}

/** @throws AppError invalid_manifest, and those of a file name */
function readPath({ path, sha256, size }: Static<typeof ManifestFile>, index: number): string {
  if (!/^[0-9a-f]{64}$/i.test(sha256)) {
    throw siteErrors.invalidManifest(`files.${index}.sha256 must be 64 hexadecimal digits`)
  }
  if (size < 0) throw siteErrors.invalidManifest(`files.${index}.size must be at least 0`)
  return readFilePath(path)
}
