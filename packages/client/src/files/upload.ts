import { readJson } from '../response.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { type Content, checkContent, type StoredObject, type UploadedObject } from './object.ts'

/** Options of an upload. */
export interface UploadOptions extends RequestOptions {
  /** Media type; that of the `Blob` unless set. The server detects the type from the content. */
  readonly contentType?: string | undefined
  /** Replaces the object only if its content has this `etag`. Otherwise the call rejects with `precondition_failed`. */
  readonly ifMatch?: string | undefined
  /** Uploads only if there is no object with this name. Otherwise the call rejects with `precondition_failed`. */
  readonly ifNoneMatch?: '*' | undefined
}

/** Time limit of an upload. It equals the limit of the server (`storage.upload_timeout`). */
const uploadTimeoutMs = 300_000

/** Uploads content in one request. @param token null for a signed URL, which identifies the user itself */
export async function putContent(
  transport: Transport,
  path: string,
  content: Content,
  options: UploadOptions & { readonly token?: null },
): Promise<UploadedObject> {
  checkContent(content)
  const {
    contentType,
    ifMatch,
    ifNoneMatch,
    signal,
    timeoutMs = uploadTimeoutMs,
    retryForMs,
    token,
  } = options
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
  }
  // A retry of a conditional upload would fail because the first attempt has succeeded.
  const isRepeatable = ifMatch === undefined && ifNoneMatch === undefined
  const detail = { content, headers, signal, timeoutMs, retryForMs, token, isRepeatable }
  return transport.exchange('PUT', path, detail, async (response) => ({
    // The server responds with the object.
    ...((await readJson(response)) as StoredObject),
    etag: response.headers.get('etag') ?? '',
  }))
}
