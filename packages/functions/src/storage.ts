import type {
  Content,
  DownloadOptions,
  ListOptions,
  MoveOptions,
  ObjectPage,
  SignOptions,
  SignUploadOptions,
  StoredObject,
  UploadedObject,
  UploadOptions,
} from '@basaltdb/client/files'

/**
 * Buckets in the transaction of the call, under the policies of its identity: uploads, deletions and signed URLs take effect with the
 * commit, and are undone with the transaction.
 */
export interface CallStorage {
  /** Returns a bucket by its name. Sends no request. */
  readonly bucket: (name: string) => CallBucket
}

/** Objects of a bucket, as the typed client has them. An upload and a download have at most 10 MiB. */
export interface CallBucket {
  /** Uploads an object and replaces an existing one with this name. @throws BasaltError `file_too_large`, `storage_quota_exceeded` */
  upload(
    name: string,
    content: Content,
    options?: Pick<UploadOptions, 'contentType' | 'ifMatch' | 'ifNoneMatch'>,
  ): Promise<UploadedObject>
  /**
   * Downloads an object, or a part of it. A route may return the response.
   *
   * @throws BasaltError `file_not_found`; `file_too_large` for more than 10 MiB, of which `range` reads parts
   */
  download(name: string, options?: Pick<DownloadOptions, 'range'>): Promise<Response>
  /** Lists objects in the order of their names. */
  list(
    options?: Pick<ListOptions, 'prefix' | 'delimiter' | 'limit' | 'cursor' | 'offset' | 'skipTotal'>,
  ): Promise<ObjectPage>
  /** Deletes an object. Its bytes are removed after the commit. @throws BasaltError `file_not_found` */
  delete(name: string, options?: { readonly ifMatch?: string | undefined }): Promise<void>
  /** Returns a signed URL that opens the object without a token, from the commit until it expires. */
  sign(name: string, options?: Omit<SignOptions, 'signal' | 'timeoutMs' | 'retryForMs'>): Promise<string>
  /** Returns a signed URL for an upload by PUT on behalf of this identity. */
  signUpload(name: string, options?: Pick<SignUploadOptions, 'expiresIn'>): Promise<string>
  /** Revokes the signed URLs that this identity created for the object. An administrator revokes those of all users. */
  revoke(name: string): Promise<void>
  /** Moves an object. Never replaces another one. @throws BasaltError `object_exists` */
  move(name: string, to: string, options?: Pick<MoveOptions, 'bucket'>): Promise<StoredObject>
  /** Copies an object. Never replaces another one. @throws BasaltError `object_exists` */
  copy(name: string, to: string, options?: Pick<MoveOptions, 'bucket'>): Promise<StoredObject>
}
