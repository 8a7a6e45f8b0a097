import { readAnswer } from '../answer.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { type Content, checkContent, type StoredObject, type UploadedObject } from './object.ts'

export interface UploadOptions extends RequestOptions {
  /** That of the `Blob` unless given. The server looks at the content. */
  readonly contentType?: string | undefined
  /** Replaces only the content with this `etag`; else `precondition_failed`. */
  readonly ifMatch?: string | undefined
  /** Replaces nothing; else `precondition_failed`. */
  readonly ifNoneMatch?: '*' | undefined
}

/** As long as the server takes for one (`storage.upload_timeout`). */
const uploadTimeoutMs = 300_000

/** @param token null: the address says itself for whom it works */
export async function putContent(
  transport: Transport,
  path: string,
  content: Content,
  options: UploadOptions & { readonly token?: null },
): Promise<UploadedObject> {
  checkContent(content)
  const { contentType, ifMatch, ifNoneMatch, signal, timeoutMs = uploadTimeoutMs, token } = options
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
  }
  // With a condition the second attempt would be refused because the first was made.
  const isRepeatable = ifMatch === undefined && ifNoneMatch === undefined
  const detail = { content, headers, signal, timeoutMs, token, isRepeatable }
  return transport.exchange('PUT', path, detail, async (response) => ({
    // What the server answers to an upload.
    ...((await readAnswer(response)) as StoredObject),
    etag: response.headers.get('etag') ?? '',
  }))
}
