import { BasaltError, isBasaltError } from '../errors.ts'
import { backoffSeconds, isRetryable, pause } from '../retry.ts'
import type { Transport } from '../transport.ts'
import { type ObjectLocation, pathOf } from './address.ts'
import { checkContent, isBlob } from './object.ts'
import { createTus, type Tus } from './tus.ts'
import { putContent } from './upload.ts'

/** Progress of a resumable upload. */
export interface UploadProgress {
  /** Number of bytes that the server has stored. */
  readonly loaded: number
  /** Size of the content in bytes. */
  readonly total: number
}

/** Storage of unfinished uploads, such as `localStorage`. */
export interface UploadStore {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

/** Options of a resumable upload. */
export interface ResumableOptions {
  /** Signal that aborts the upload. */
  readonly signal?: AbortSignal | undefined
  /** Media type; that of the `Blob` unless set. The server detects the type from the content. */
  readonly contentType?: string | undefined
  /** Callback before the first and after each part. `loaded` never decreases. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined
  /**
   * Storage that lets the upload resume after a reload or an abort. Without it, such an upload restarts from the first
   * byte.
   */
  readonly store?: UploadStore | undefined
  /**
   * Name of the content in the store, so that a resumed upload never mixes two contents. A `File` needs none, because its name,
   * size and modification time identify it.
   */
  readonly fingerprint?: string | undefined
}

/** Size of the first part. Parts start small, so that progress is visible, and double while one takes less than a second. */
const minPartBytes = 256 * 1024
const maxPartBytes = 8 * 1024 * 1024
/** Time limit of the last part, after which the server creates the object. */
const completionTimeoutMs = 300_000
/** Number of attempts without progress. Together they take longer than the server locks an upload for a broken connection. */
const maxFailures = 8

/** Uploads content part by part. After a failed part, reads from the server where to resume. */
export async function uploadInParts(
  transport: Transport,
  location: ObjectLocation,
  content: Blob | BufferSource,
  options: ResumableOptions,
): Promise<void> {
  checkContent(content)
  const { signal, onProgress } = options
  const blob = isBlob(content) ? content : new Blob([content])
  const contentType = options.contentType ?? blob.type
  const path = pathOf(location)
  const progress = (loaded: number) => onProgress?.({ loaded, total: blob.size })
  if (blob.size === 0) {
    // Creating an empty upload already creates its object, so it could not be created a second time.
    await putContent(transport, path, blob, { contentType: contentType || undefined, signal })
    return progress(0)
  }
  const tus = createTus(transport, signal)
  const entry = createEntry(`${transport.url}/api/${path}`, content, options)
  const storedId = await entry?.load()
  const known = storedId ? await findKnown(tus, storedId, blob.size) : undefined
  const id = known?.id ?? (await tus.begin({ ...location, size: blob.size, contentType }))
  await entry?.save(id)
  try {
    await sendParts(tus, { id, blob, offset: known?.offset ?? 0, progress, signal })
  } catch (error) {
    const isResumable = entry !== undefined && !isRefusal(error)
    if (!isResumable) {
      await entry?.remove()
      // Unfinished uploads count against the quota. If the deletion fails, they expire.
      void tus.end(id).catch(() => undefined)
    }
    throw error
  }
  await entry?.remove()
}

interface PartUpload {
  readonly id: string
  readonly blob: Blob
  /** Offset of the first part. */
  readonly offset: number
  readonly progress: (loaded: number) => void
  readonly signal: AbortSignal | undefined
}

async function sendParts(tus: Tus, { id, blob, offset: first, progress, signal }: PartUpload): Promise<void> {
  let loaded = first
  let partBytes = minPartBytes
  let failures = 0
  let isKnown = true
  progress(loaded)
  while (loaded < blob.size || !isKnown) {
    const before = loaded
    try {
      if (isKnown) {
        const part = blob.slice(loaded, loaded + partBytes)
        const isLast = loaded + part.size === blob.size
        const startedAt = performance.now()
        loaded = await tus.add(id, loaded, part, isLast ? completionTimeoutMs : undefined)
        if (performance.now() - startedAt < 1000) partBytes = Math.min(partBytes * 2, maxPartBytes)
        if (loaded === before)
          throw new BasaltError('the server stored nothing', { error: 'timeout', status: 0 })
      } else {
        loaded = (await tus.find(id)).offset
        isKnown = true
      }
    } catch (error) {
      if (!isTemporary(error) || failures === maxFailures) throw error
      failures += 1
      partBytes = minPartBytes
      isKnown = false
      await pause(backoffSeconds(failures, error.retryAfterSeconds), signal)
    }
    if (loaded > before) {
      failures = 0
      progress(loaded)
    }
  }
}

/** Returns true if reading the offset after a pause may help. */
function isTemporary(error: unknown): error is BasaltError {
  return (
    error instanceof BasaltError &&
    (isRetryable(error) ||
      // Another request writes to the upload, perhaps that of a broken connection. Status 429: too many requests.
      [423, 429].includes(error.status) ||
      isBasaltError(error, 'resumable_upload_offset_mismatch'))
  )
}

/** Returns true if the server will never accept the rest. */
function isRefusal(error: unknown): boolean {
  return error instanceof BasaltError && [400, 403, 404, 410, 413, 415].includes(error.status)
}

/**
 * Finds an upload that was started before and is incomplete. A complete upload does not count, because its object may be
 * deleted.
 */
async function findKnown(tus: Tus, id: string, size: number) {
  try {
    const found = await tus.find(id)
    return found.size === size && found.offset < size ? { id, offset: found.offset } : undefined
  } catch (error) {
    // The upload has expired or belongs to another user.
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** Creates the store entry of an upload id. @throws TypeError for content that the store could not recognize */
function createEntry(
  address: string,
  content: Blob | BufferSource,
  { store, fingerprint }: ResumableOptions,
) {
  if (store === undefined) return undefined
  const name = fingerprint ?? fingerprintOf(content)
  if (name === undefined) throw new TypeError('an upload of what is no File needs a fingerprint to be stored')
  const key = `basalt-upload ${address} ${name}`
  return {
    load: () => unlessFailing(() => store.getItem(key)),
    save: (id: string) => unlessFailing(() => store.setItem(key, id)),
    remove: () => unlessFailing(() => store.removeItem(key)),
  }
}

/** Calls the store, and ignores its failure. An upload works without a store that is full or denied. */
async function unlessFailing<Value>(use: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await use()
  } catch {
    return undefined
  }
}

function fingerprintOf(content: Blob | BufferSource): string | undefined {
  // `File` exists in Node 20 and later.
  if (!(content instanceof File)) return undefined
  return `${content.name} ${content.size} ${content.lastModified}`
}
