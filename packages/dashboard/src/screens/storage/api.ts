import { files, type ObjectPage, type StoredObject } from '@basaltdb/client/files'
import { client } from '../../api/client.ts'
import { get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type Bucket = Item<'storage.listBuckets'>

/** Settings of a bucket that can be changed. Null removes a limit. */
export interface BucketSettings {
  readonly public: boolean
  readonly maxFileSize: number | null
  readonly allowedTypes: readonly string[] | null
}

export const listBuckets = async (signal: AbortSignal) =>
  (await get<'storage.listBuckets'>('storage/buckets', {}, { signal })).items

export const createBucket = (input: BucketSettings & { readonly name: string }) =>
  post<'storage.createBucket'>('storage/buckets', input)

export const changeBucket = ({ name, ...settings }: BucketSettings & { readonly name: string }) =>
  put<'storage.updateBucket'>(`storage/buckets/${segment(name)}`, settings)

/** Deletes a bucket with its objects. */
export const deleteBucket = (name: string) =>
  remove<'storage.deleteBucket'>(`storage/buckets/${segment(name)}`, { force: true })

export const purgeCopies = (input: { readonly urls: readonly string[] } | { readonly purge_all: true }) =>
  post<'cdn.purge'>('admin/storage/cdn/purge', input)

const storage = files(client)
export const bucketOf = (name: string) => storage.bucket(name)

const pageSize = 100

/** Lists objects and folders below a prefix. */
export async function listObjects(
  bucket: string,
  prefix: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ items: readonly (StoredObject | Folder)[]; next: string | undefined }> {
  const page: ObjectPage = await bucketOf(bucket).list({
    ...{ prefix, cursor: cursor ?? '', signal },
    ...{ delimiter: '/', limit: pageSize },
  })
  const folders = (page.prefixes ?? []).map((folder) => ({ folder }))
  return { items: [...folders, ...page.items], next: page.nextCursor }
}

/** Folder: the prefix that object names share up to a slash, including the slash. */
export interface Folder {
  readonly folder: string
}

/** Returns the URL from which the browser downloads an object. */
export const downloadAddress = (bucket: string, name: string) => `${objectAddress(bucket, name)}?download=`

export const objectAddress = (bucket: string, name: string) =>
  `/api/storage/${segment(bucket)}/${name.split('/').map(segment).join('/')}`

/** Templates of common object policies. */
export const policyTemplates = [
  { value: 'user-own-files', label: 'Users read and write their own objects' },
  { value: 'public-read-auth-write', label: 'Everyone reads, users write their own objects' },
  { value: 'bucket-scoped', label: 'Signed-in users read and write everything' },
] as const

export type PolicyTemplate = (typeof policyTemplates)[number]['value']

export const applyTemplate = (input: { readonly bucket: string; readonly template: PolicyTemplate }) =>
  post<'storage.applyTemplate'>(`admin/rls/templates/storage-objects/${input.template}`, {
    bucket: input.bucket,
  })
