import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { AppError, codeOf } from '../../../../lib/errors.ts'
import { storageErrors } from '../errors.ts'

/** The file of a form, as a stream. */
export interface FormFile {
  readonly source: AsyncIterable<Buffer>
  readonly type: string
  /** The part `name`, or else the name of the file; known when the whole form is. */
  readonly name: () => Promise<string>
}

/** Limits of a form. It has a name beside the file. Parts that browsers and frameworks add are ignored. */
const limits = { fields: 50, fieldNameSize: 100, fieldSize: 4096, files: 10, parts: 60, headerPairs: 50 }

/**
 * Reads `multipart/form-data` (RFC 7578) while it comes: the part `file` is handed on as a stream.
 *
 * @throws AppError invalid_upload_form, upload_file_missing, and what the work throws
 */
export async function readUploadForm<Result>(
  body: Readable,
  headers: IncomingHttpHeaders,
  receive: (file: FormFile) => Promise<Result>,
): Promise<Result> {
  const form = createParser(headers)
  const parsed = pipeline(body, form)
  let receiving: Promise<Result> | undefined
  let isRepeated = false
  let given: string | undefined
  let fileName = ''
  // The parser would skip fields beyond a limit, and one of them may be the name.
  for (const event of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    form.on(event, () => form.destroy(storageErrors.invalidUploadForm()))
  }
  form.on('field', (field, value) => {
    if (field !== 'name') return
    if (given !== undefined) form.destroy(storageErrors.invalidUploadForm())
    given = value
  })
  form.on('file', (field, stream, file, _encoding, type) => {
    parsed.catch((error) => stream.destroy(error))
    // It reaches the loop that reads the stream.
    stream.on('error', () => undefined)
    if (field !== 'file' || receiving !== undefined) {
      isRepeated ||= field === 'file'
      stream.resume()
      return
    }
    fileName = file ?? ''
    receiving = receive({ source: chunksOf(stream), type, name })
    // Nothing more of the form is read.
    receiving.catch((error) => form.destroy(error))
  })
  const name = async () => {
    await parsed
    if (isRepeated) throw storageErrors.uploadFileMissing()
    const found = given ?? fileName
    // Names that differ in what is not UTF-8 would become one.
    if (found.includes('\ufffd')) throw storageErrors.invalidObjectName('it must be UTF-8')
    return found
  }
  try {
    await parsed
  } catch (error) {
    await receiving
    throw toAppError(error)
  }
  if (receiving === undefined) throw storageErrors.uploadFileMissing()
  return await receiving
}

async function* chunksOf(stream: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* stream
  } catch (error) {
    throw toAppError(error)
  }
}

/** Blames the form for errors of the parser. A time limit or a disconnected client is not its fault. */
function toAppError(error: unknown): unknown {
  return error instanceof AppError || codeOf(error) === 'ECONNRESET'
    ? error
    : storageErrors.invalidUploadForm()
}

/** @throws AppError invalid_upload_form */
function createParser(headers: IncomingHttpHeaders): BusboyInstance {
  const type = headers['content-type']
  if (type === undefined || !/^multipart\/form-data\s*(?:;|$)/i.test(type))
    throw storageErrors.invalidUploadForm()
  try {
    return new Busboy({ headers: { ...headers, 'content-type': type }, limits, preservePath: true })
  } catch {
    throw storageErrors.invalidUploadForm()
  }
}
