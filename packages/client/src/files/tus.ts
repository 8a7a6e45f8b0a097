import { BasaltError } from '../errors.ts'
import { invalidResponse } from '../response.ts'
import { pathSegment, type Transport } from '../transport.ts'
import type { ObjectLocation } from './address.ts'

const path = 'storage/upload/resumable'
const version = { 'tus-resumable': '1.0.0' }

interface UploadRequest extends ObjectLocation {
  readonly size: number
  /** Media type; empty to let the server detect it. */
  readonly contentType: string
}

/** Creates the requests of tus 1.0 (https://tus.io/protocols/resumable-upload). Requests that append bytes are sent once. */
export function createTus(transport: Transport, signal: AbortSignal | undefined) {
  const at = (id: string) => `${path}/${pathSegment(id)}`
  return {
    /** Creates an upload and returns its id. An upload whose response was lost has no bytes and expires. */
    async begin({ bucket, name, size, contentType }: UploadRequest): Promise<string> {
      const metadata: Readonly<Record<string, string>> =
        contentType === '' ? {} : { 'upload-metadata': `contentType ${encodeBase64(contentType)}` }
      const headers = { ...version, 'upload-length': String(size), ...metadata }
      const detail = { query: { bucket, name }, headers, signal, isRepeatable: true }
      const response = (await transport.request('POST', path, detail)) as { id?: unknown } | null
      if (typeof response?.id !== 'string') throw invalidResponse('id')
      return response.id
    },

    /** Reads the offset and the size of an upload. */
    find(id: string): Promise<{ readonly offset: number; readonly size: number }> {
      const detail = { headers: version, signal, isRepeatable: true }
      return transport.exchange('HEAD', at(id), detail, (response) => ({
        offset: readCount(response, 'upload-offset'),
        size: readCount(response, 'upload-length'),
      }))
    },

    /** Appends bytes and returns the new offset. The server keeps the bytes that arrive before a connection breaks. */
    add(id: string, offset: number, content: Blob, timeoutMs: number | undefined): Promise<number> {
      const headers = {
        ...version,
        'upload-offset': String(offset),
        'content-type': 'application/offset+octet-stream',
      }
      const detail = { content, headers, signal, timeoutMs, isRepeatable: false }
      return transport.exchange('PATCH', at(id), detail, (response) => readCount(response, 'upload-offset'))
    },

    /** Deletes an upload. Works after the signal was aborted, too. */
    async end(id: string): Promise<void> {
      await transport.request('DELETE', at(id), { headers: version, isRepeatable: false })
    },
  }
}

export type Tus = ReturnType<typeof createTus>

/** Reads a numeric response header. @throws BasaltError `invalid_response` */
function readCount({ headers, status }: Response, name: string): number {
  const text = headers.get(name) ?? ''
  if (/^\d+$/.test(text)) return Number(text)
  throw new BasaltError(`the response has no ${name}`, { error: 'invalid_response', status })
}

function encodeBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
