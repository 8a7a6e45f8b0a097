import type { Transform } from './transform.ts'

/** Pixels of a source at most: about 8,000 by 8,000, which is 256 MiB when decoded. */
export const maxPixels = 64_000_000

/** Request that the server sends to the image process. */
export interface ImageRequest {
  readonly id: number
  readonly bytes: Uint8Array
  readonly transform: Transform
}

export interface ImageResult {
  readonly id: number
  /** Undefined when the file could not be decoded or has too many pixels. */
  readonly bytes?: Uint8Array
}
