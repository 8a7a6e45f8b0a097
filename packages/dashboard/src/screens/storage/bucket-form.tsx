import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { type Bucket, changeBucket, createBucket } from './api.ts'

const megabyte = 1_000_000

/** Edits a bucket. @param bucket bucket to change; undefined for a new one */
export function BucketForm({ bucket, onClose }: { readonly bucket?: Bucket; readonly onClose: () => void }) {
  const [name, setName] = useState(bucket?.name ?? '')
  const [isPublic, setPublic] = useState(bucket?.public ?? false)
  const [megabytes, setMegabytes] = useState(
    bucket?.maxFileSize === undefined ? '' : String(bucket.maxFileSize / megabyte),
  )
  const [types, setTypes] = useState(bucket?.allowedTypes?.join(', ') ?? '')
  const action = useAction(bucket === undefined ? createBucket : changeBucket, {
    invalidates: [['storage', 'buckets']],
    done: bucket === undefined ? `Bucket ${name} created.` : `Bucket ${name} changed.`,
    failure: 'view',
    onDone: onClose,
  })
  const size = megabytes.trim() === '' ? null : Math.round(Number(megabytes) * megabyte)
  const isSizeUsable = size === null || (Number.isFinite(size) && size > 0)
  const allowedTypes = types
    .split(',')
    .map((type) => type.trim())
    .filter(Boolean)
  return (
    <FormDialog
      title={bucket === undefined ? 'New bucket' : `Settings of ${bucket.name}`}
      action={bucket === undefined ? 'Create bucket' : 'Save'}
      isDisabled={!isSizeUsable || name === ''}
      isPending={action.isPending}
      error={action.error}
      onSubmit={() =>
        action.run({
          name,
          public: isPublic,
          maxFileSize: size,
          allowedTypes: allowedTypes.length === 0 ? null : allowedTypes,
        })
      }
      onClose={onClose}
    >
      {bucket === undefined && (
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          isCode
          required
          hint="Part of URLs: lower-case letters, digits and hyphens. The name cannot be changed."
        />
      )}
      <Checkbox
        label="Public: everyone can read its objects"
        hint="Reading needs no token and ignores policies. Writing always requires policies."
        checked={isPublic}
        onChange={setPublic}
      />
      <TextField
        label="Maximum file size in MB"
        inputMode="decimal"
        value={megabytes}
        onChange={setMegabytes}
        hint="Leave empty for the limit of the server."
        error={isSizeUsable ? undefined : 'Enter a number above 0, or leave empty.'}
      />
      <TextField
        label="Types"
        value={types}
        onChange={setTypes}
        isCode
        hint="Separated by commas: image/*, application/pdf. Leave empty for any type."
      />
    </FormDialog>
  )
}
