import type { FastifyRequest } from 'fastify'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { storageErrors } from '../errors.ts'
import { readObjectName } from '../names.ts'
import { declaredTypeOf } from '../objects/content-type.ts'
import { readMetadata, readText } from './metadata.ts'

// Headers of tus 1.0.

export const version = '1.0.0'
export const chunkType = 'application/offset+octet-stream'

/** Returns the length of the body; undefined when the request does not declare it. */
export function lengthOf({ headers }: FastifyRequest): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length'])
}

/** Headers of extensions that the server does not offer. A client may believe their effect to have happened. */
const extensions = {
  'Upload-Checksum': 'checksum',
  'Upload-Concat': 'concatenation',
  'Upload-Defer-Length': 'creation-defer-length',
} as const

/** @throws AppError invalid_tus_resumable, invalid_upload_header */
export function requireProtocol({ headers }: FastifyRequest): void {
  if (headers['tus-resumable'] !== version) {
    throw storageErrors.invalidTusResumable().with({ headers: { 'tus-version': version } })
  }
  for (const [header, extension] of Object.entries(extensions)) {
    if (headers[header.toLowerCase()] === undefined) continue
    throw storageErrors.invalidUploadHeader(header, `the extension ${extension} is not offered`)
  }
}

/** @throws AppError invalid_chunk_type, unsupported_content_encoding */
export function requireChunk({ headers }: FastifyRequest): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== chunkType) throw storageErrors.invalidChunkType()
  // It would be stored encoded, and sent without saying so.
  if (headers['content-encoding'] !== undefined) throw httpErrors.unsupportedContentEncoding('identity')
}

/** Checks whether the creation has a body, which is the beginning of the upload. @throws those of `requireChunk` */
export function bringsBytes(request: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (length === '0' && encoding === undefined) return false
  requireChunk(request)
  return true
}

interface Creation {
  readonly query: { readonly bucket?: string; readonly name?: string }
  readonly headers: FastifyRequest['headers']
}

/** @throws AppError upload_place_required, invalid_object_name, invalid_upload_header */
export function readNewUpload({ query, headers }: Creation) {
  const header = single(headers['upload-metadata'])
  const metadata = readMetadata(header)
  const bucket = query.bucket ?? ''
  const name = query.name ?? readText(metadata, 'name', 'filename') ?? ''
  if (bucket === '' || name === '') throw storageErrors.uploadPlaceRequired()
  const objectName = readObjectName(name)
  return {
    bucket,
    name: objectName,
    size: readCount({ headers }, 'Upload-Length'),
    contentType: declaredTypeOf(readText(metadata, 'contentType', 'filetype'), objectName),
    metadata: header,
  }
}

/** @throws AppError invalid_upload_header */
export function readCount(
  { headers }: Pick<FastifyRequest, 'headers'>,
  name: 'Upload-Length' | 'Upload-Offset',
): number {
  const text = single(headers[name.toLowerCase()]) ?? ''
  if (!/^\d{1,15}$/.test(text)) {
    throw storageErrors.invalidUploadHeader(name, 'expected a number of bytes')
  }
  return Number(text)
}

export function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(',')
}
