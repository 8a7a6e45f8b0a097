import { BasaltError, isBasaltError } from '../errors.ts'
import { backoffSeconds, isPassing, pause } from '../retry.ts'
import type { Transport } from '../transport.ts'
import { type Place, pathOf } from './address.ts'
import { checkContent, isBlob } from './object.ts'
import { createTus, type Tus } from './tus.ts'
import { putContent } from './upload.ts'

export interface UploadProgress {
  /** Bytes that the server has. */
  readonly loaded: number
  readonly total: number
}

/** Remembers uploads that are not finished; `localStorage` is one. */
export interface UploadStore {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

export interface ResumableOptions {
  readonly signal?: AbortSignal | undefined
  /** That of the `Blob` unless given. The server looks at the content. */
  readonly contentType?: string | undefined
  /** At the beginning and after each part; never less than before. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined
  /** Resumes after a reload, or where it was aborted. Without one that begins anew. */
  readonly store?: UploadStore | undefined
  /**
   * Names the content in the store, so that no other content is added to an upload. A `File` needs none: its time of change is
   * one.
   */
  readonly fingerprint?: string | undefined
}

/** Parts begin small, so that progress shows, and grow while one takes less than a second. */
const minPartBytes = 256 * 1024
const maxPartBytes = 8 * 1024 * 1024
/** Of the last part: the server makes the object. */
const completionTimeoutMs = 300_000
/** Without progress; together they take longer than the server holds what a connection that vanished was adding to. */
const maxFailures = 8

/** Uploads part after part, and asks where to resume after each that fails. */
export async function uploadInParts(
  transport: Transport,
  place: Place,
  content: Blob | BufferSource,
  options: ResumableOptions,
): Promise<void> {
  checkContent(content)
  const { signal, onProgress } = options
  const blob = isBlob(content) ? content : new Blob([content])
  const contentType = options.contentType ?? blob.type
  const path = pathOf(place)
  const progress = (loaded: number) => onProgress?.({ loaded, total: blob.size })
  if (blob.size === 0) {
    // Beginning such an upload makes its object, so it could not be begun again.
    await putContent(transport, path, blob, { contentType: contentType || undefined, signal })
    return progress(0)
  }
  const tus = createTus(transport, signal)
  const note = createNote(`${transport.url}/api/${path}`, content, options)
  const noted = await note?.load()
  const known = noted ? await findKnown(tus, noted, blob.size) : undefined
  const id = known?.id ?? (await tus.begin({ ...place, size: blob.size, contentType }))
  await note?.save(id)
  try {
    await sendParts(tus, { id, blob, offset: known?.offset ?? 0, progress, signal })
  } catch (error) {
    const isResumable = note !== undefined && !isRefusal(error)
    if (!isResumable) {
      await note?.remove()
      // Unfinished uploads count against the quota. Where this fails they expire.
      void tus.end(id).catch(() => undefined)
    }
    throw error
  }
  await note?.remove()
}

interface Parts {
  readonly id: string
  readonly blob: Blob
  /** Where to begin. */
  readonly offset: number
  readonly progress: (loaded: number) => void
  readonly signal: AbortSignal | undefined
}

async function sendParts(tus: Tus, { id, blob, offset: first, progress, signal }: Parts): Promise<void> {
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
          throw new BasaltError('the server took no bytes', { error: 'timeout', status: 0 })
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

/** Whether asking for the offset, after a while, may help. */
function isTemporary(error: unknown): error is BasaltError {
  return (
    error instanceof BasaltError &&
    (isPassing(error) ||
      // Another request adds to it, that of a broken connection perhaps; or there were too many.
      [423, 429].includes(error.status) ||
      isBasaltError(error, 'resumable_upload_offset_mismatch'))
  )
}

/** Whether the server will never take the rest. */
function isRefusal(error: unknown): boolean {
  return error instanceof BasaltError && [400, 403, 404, 410, 413, 415].includes(error.status)
}

/** An upload that was begun before, if some of it is missing: of one that is complete the object may have been deleted since. */
async function findKnown(tus: Tus, id: string, size: number) {
  try {
    const found = await tus.find(id)
    return found.size === size && found.offset < size ? { id, offset: found.offset } : undefined
  } catch (error) {
    // It has expired, or belongs to another user.
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** Where the id of an upload is kept. @throws TypeError for content that the store could not recognize */
function createNote(address: string, content: Blob | BufferSource, { store, fingerprint }: ResumableOptions) {
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

/** One that is full or denied is no reason not to upload. */
async function unlessFailing<Value>(use: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await use()
  } catch {
    return undefined
  }
}

function fingerprintOf(content: Blob | BufferSource): string | undefined {
  // Node 20 and later have it.
  if (!(content instanceof File)) return undefined
  return `${content.name} ${content.size} ${content.lastModified}`
}
