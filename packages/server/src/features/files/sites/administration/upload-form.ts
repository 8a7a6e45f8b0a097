import { readForm } from '../../../../http/requests/multipart.ts'
import { siteErrors } from '../errors.ts'
import { readFilePath } from './file-path.ts'

export interface UploadedFile {
  readonly path: string
  readonly bytes: Buffer
  /** Content type of the part; may be empty. */
  readonly contentType: string
}

/**
 * Reads the file of a `multipart/form-data` body (RFC 7578). It is held in memory, because its size is limited.
 *
 * @throws AppError invalid_multipart_form, file_missing and those of a name
 */
export async function readUploadForm(body: Buffer, contentType: string): Promise<UploadedFile> {
  const form = await readForm(body, contentType)
  if (form === undefined) throw siteErrors.invalidMultipartForm()
  const files = form.getAll('file')
  const [file] = files
  if (file === undefined || typeof file === 'string' || files.length > 1) throw siteErrors.fileMissing()
  const name = form.get('name')
  const path = readFilePath(typeof name === 'string' ? name : file.name)
  return { path, bytes: Buffer.from(await file.arrayBuffer()), contentType: file.type }
}
