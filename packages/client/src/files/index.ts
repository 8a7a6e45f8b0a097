import type { Client } from '../client.ts'
import type { AnyDatabase } from '../database-types.ts'
import { pathOfSigned } from './address.ts'
import { type Bucket, createBucket } from './bucket.ts'
import type { Content, UploadedObject } from './object.ts'
import { putContent, type UploadOptions } from './upload.ts'

export type { ImageOptions, UrlOptions } from './address.ts'
export type {
  Bucket,
  DeleteOptions,
  DownloadOptions,
  ListOptions,
  MoveOptions,
  SignOptions,
  SignUploadOptions,
} from './bucket.ts'
export type { Content, ObjectPage, StoredObject, UploadedObject } from './object.ts'
export type { ResumableOptions, UploadProgress, UploadStore } from './resumable.ts'
export type { UploadOptions } from './upload.ts'

/** Access to the buckets of a backend. */
export interface Files {
  /** Returns a bucket by its name. Sends no request. */
  bucket(name: string): Bucket
  /**
   * Uploads to a URL of `signUpload`, without a token and on behalf of the user who signed it.
   * @throws TypeError if the URL is not a signed URL
   */
  uploadTo(signedUrl: string, content: Content, options?: UploadOptions): Promise<UploadedObject>
}

/** Returns the files of a backend. */
export function files<DB extends AnyDatabase>({ transport }: Client<DB>): Files {
  return {
    bucket: (name) => createBucket(transport, name),
    uploadTo: async (signedUrl, content, options = {}) =>
      putContent(transport, pathOfSigned(signedUrl), content, { ...options, token: null }),
  }
}
