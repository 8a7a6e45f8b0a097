import { checkbox, code, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { splitList } from '../../ui/split-list.ts'
import { type Bucket, changeBucket, createBucket } from './api.ts'

const megabyte = 1_000_000

/** Edits a bucket. @param bucket bucket to change; undefined for a new one */
export function BucketForm({ bucket, onClose }: { readonly bucket?: Bucket; readonly onClose: () => void }) {
  const isNew = bucket === undefined
  return (
    <ActionForm
      title={isNew ? 'New bucket' : `Settings of ${bucket.name}`}
      action={isNew ? 'Create bucket' : 'Save'}
      start={{
        ...{ name: bucket?.name ?? '', public: bucket?.public ?? false },
        maxFileSize: bucket?.maxFileSize === undefined ? '' : String(bucket.maxFileSize / megabyte),
        allowedTypes: bucket?.allowedTypes?.join(', ') ?? '',
      }}
      fields={({ maxFileSize }) => ({
        name:
          isNew &&
          code('Name', {
            required: true,
            hint: 'Part of URLs: lower-case letters, digits and hyphens. The name cannot be changed.',
          }),
        public: checkbox('Public: everyone can read its objects', {
          hint: 'Reading needs no token and ignores policies. Writing always requires policies.',
        }),
        maxFileSize: text('Maximum file size in MB', {
          inputMode: 'decimal',
          hint: 'Leave empty for the limit of the server.',
          ...(!isUsable(sizeOf(maxFileSize)) && { error: 'Enter a number above 0, or leave empty.' }),
        }),
        allowedTypes: code('Types', {
          hint: 'Separated by commas: image/*, application/pdf. Leave empty for any type.',
        }),
      })}
      isReady={({ maxFileSize }) => isUsable(sizeOf(maxFileSize))}
      send={(draft) => {
        const types = splitList(draft.allowedTypes)
        return (isNew ? createBucket : changeBucket)({
          ...draft,
          maxFileSize: sizeOf(draft.maxFileSize),
          allowedTypes: types.length === 0 ? null : types,
        })
      }}
      invalidates={[['storage', 'buckets']]}
      done={(_, { name }) => `Bucket ${name} ${isNew ? 'created' : 'changed'}.`}
      onClose={onClose}
    />
  )
}

const sizeOf = (megabytes: string) =>
  megabytes.trim() === '' ? null : Math.round(Number(megabytes) * megabyte)

const isUsable = (size: number | null) => size === null || (Number.isFinite(size) && size > 0)
