import { notTheAnswer } from '../answer.ts'
import { BasaltError } from '../errors.ts'
import { pathSegment, type Transport } from '../transport.ts'
import type { Place } from './address.ts'

const path = 'storage/upload/resumable'
const version = { 'tus-resumable': '1.0.0' }

interface Begin extends Place {
  readonly size: number
  /** Empty: it is for the server to find out. */
  readonly contentType: string
}

/** The requests of tus 1.0 (https://tus.io/protocols/resumable-upload), of which those that add are made once. */
export function createTus(transport: Transport, signal: AbortSignal | undefined) {
  const at = (id: string) => `${path}/${pathSegment(id)}`
  return {
    /** @returns its id. One that was lost with the answer has no bytes, and expires. */
    async begin({ bucket, name, size, contentType }: Begin): Promise<string> {
      const metadata: Readonly<Record<string, string>> =
        contentType === '' ? {} : { 'upload-metadata': `contentType ${encodeBase64(contentType)}` }
      const headers = { ...version, 'upload-length': String(size), ...metadata }
      const detail = { query: { bucket, name }, headers, signal, isRepeatable: true }
      const answer = (await transport.request('POST', path, detail)) as { id?: unknown } | null
      if (typeof answer?.id !== 'string') throw notTheAnswer('id')
      return answer.id
    },

    /** How far the upload has got. */
    find(id: string): Promise<{ readonly offset: number; readonly size: number }> {
      const detail = { headers: version, signal, isRepeatable: true }
      return transport.exchange('HEAD', at(id), detail, (response) => ({
        offset: readCount(response, 'upload-offset'),
        size: readCount(response, 'upload-length'),
      }))
    },

    /** @returns how far it has got by that: what comes before a connection breaks is kept */
    add(id: string, offset: number, content: Blob, timeoutMs: number | undefined): Promise<number> {
      const headers = {
        ...version,
        'upload-offset': String(offset),
        'content-type': 'application/offset+octet-stream',
      }
      const detail = { content, headers, signal, timeoutMs, isRepeatable: false }
      return transport.exchange('PATCH', at(id), detail, (response) => readCount(response, 'upload-offset'))
    },

    /** For good; also after the signal. */
    async end(id: string): Promise<void> {
      await transport.request('DELETE', at(id), { headers: version, isRepeatable: false })
    },
  }
}

export type Tus = ReturnType<typeof createTus>

/** @throws BasaltError invalid_response */
function readCount({ headers, status }: Response, name: string): number {
  const text = headers.get(name) ?? ''
  if (/^\d+$/.test(text)) return Number(text)
  throw new BasaltError(`the answer has no ${name}`, { error: 'invalid_response', status })
}

function encodeBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
