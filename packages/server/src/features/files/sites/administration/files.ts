import { createHash } from 'node:crypto'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import { contentTypeOf } from '../content-type.ts'
import { siteErrors } from '../errors.ts'
import { compress } from './compress.ts'
import { failDeploy, findDeploy } from './deploy-queries.ts'
import { requireDeployId } from './deploys.ts'
import { readFilePath } from './file-path.ts'
import * as queries from './file-queries.ts'
import { type Deploy, showDeploy } from './show.ts'
import { requireSiteId } from './sites.ts'
import { readUploadForm } from './upload-form.ts'

export interface ManifestFile {
  readonly path: string
  readonly sha256: string
  readonly size: number
}

export interface FileServiceDeps {
  readonly database: SystemDatabase
  readonly maxFileSize: number
}

export type FileService = ReturnType<typeof createFileService>

export function createFileService({ database, maxFileSize }: FileServiceDeps) {
  /** Before the work, so that what cannot be stored is not read either; a lock decides again after it. */
  async function requireUploading(siteId: string, id: string): Promise<void> {
    const deploy = await findDeploy(database, requireSiteId(siteId), requireDeployId(id))
    if (deploy === undefined) throw siteErrors.deployNotFound()
    if (deploy.status !== 'uploading') throw siteErrors.deployClosed()
  }

  /** What passes, such as a database that restarts, leaves the deploy open: the client sends the file again. */
  async function giveUp(siteId: string, id: string, error: unknown): Promise<never> {
    const status = translateDatabaseFailure(error)?.status ?? 500
    if (error instanceof AppError || [409, 503, 504].includes(status)) throw error
    const failure = siteErrors.deployUploadFailed()
    await failDeploy(database, siteId, id, failure.message)
    throw failure.with({ cause: error })
  }

  return {
    /** @throws AppError deploy_not_found, deploy_closed, invalid_multipart_form, deploy_upload_failed, … */
    async upload(siteId: string, id: string, body: Buffer, formType: string): Promise<Deploy> {
      await requireUploading(siteId, id)
      const { path, bytes, contentType: given } = await readUploadForm(body, formType)
      if (bytes.length > maxFileSize) throw siteErrors.siteFileTooLarge(maxFileSize)
      const contentType = contentTypeOf(path, given)
      const sha256 = createHash('sha256').update(bytes).digest()
      const isStored = await queries.hasBlob(database, sha256)
      const compressed = isStored ? { brotli: null, gzip: null } : await compress(bytes, contentType)
      const storing = database.transaction(async (transaction) => {
        // Before the lock, so that only its row is waited for by the other uploads.
        await queries.insertBlob(transaction, sha256, bytes, compressed)
        if (!(await queries.lockUploading(transaction, siteId, id))) throw siteErrors.deployClosed()
        const file = { path, sha256, size: bytes.length, contentType }
        return showDeploy(await queries.putFiles(transaction, id, [file]))
      })
      return await storing.catch((error) => giveUp(siteId, id, error))
    },

    /** Adds the files whose content is stored; answers the hashes of the others. @throws AppError invalid_manifest, … */
    async addKnown(siteId: string, id: string, files: readonly ManifestFile[]): Promise<string[]> {
      await requireUploading(siteId, id)
      // The last one of a path counts, as with uploads.
      const wanted = new Map(files.map((file, index) => [readManifestPath(file, index), file]))
      const hashes = [...new Set(files.map(({ sha256 }) => sha256.toLowerCase()))]
      return await database.transaction(async (transaction) => {
        if (!(await queries.lockUploading(transaction, siteId, id))) throw siteErrors.deployClosed()
        const stored = await queries.findStored(
          transaction,
          hashes.map((hash) => Buffer.from(hash, 'hex')),
        )
        const known = new Map(stored.map((blob) => [blob.sha256.toString('hex'), blob]))
        const found = [...wanted].flatMap(([path, { sha256 }]) => {
          const blob = known.get(sha256.toLowerCase())
          return blob === undefined ? [] : [{ path, ...blob, contentType: contentTypeOf(path) }]
        })
        if (found.length > 0) await queries.putFiles(transaction, id, found)
        return hashes.filter((hash) => !known.has(hash))
      })
    },
  }
}

function readManifestPath({ path, sha256, size }: ManifestFile, index: number): string {
  if (!/^[0-9a-f]{64}$/i.test(sha256)) {
    throw siteErrors.invalidManifest(`files.${index}.sha256 must be 64 hexadecimal digits`)
  }
  if (size < 0) throw siteErrors.invalidManifest(`files.${index}.size must be at least 0`)
  return readFilePath(path)
}
