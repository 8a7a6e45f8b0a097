import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { bucketOf, listBuckets } from './api.ts'

interface RelocateFormProps {
  readonly bucket: string
  readonly name: string
  readonly verb: 'move' | 'copy'
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Moves or copies an object. It never replaces another one. */
export function RelocateForm({ bucket, name, verb, onClose, onDone }: RelocateFormProps) {
  const [toBucket, setToBucket] = useState(bucket)
  const [toName, setToName] = useState(name)
  const buckets = useApi(['storage', 'buckets'], listBuckets)
  const action = useAction(() => bucketOf(bucket)[verb](name, toName, { bucket: toBucket }), {
    invalidates: [['storage', 'objects']],
    done: verb === 'move' ? 'Object moved.' : 'Object copied.',
    failure: 'view',
    onDone,
  })
  const verbTitle = verb === 'move' ? 'Move' : 'Copy'
  return (
    <FormDialog
      title={`${verbTitle} object`}
      action={verbTitle}
      isDisabled={toName === '' || (toName === name && toBucket === bucket)}
      isPending={action.isPending}
      error={action.error}
      onSubmit={() => action.run()}
      onClose={onClose}
    >
      <TextField label="Name" value={toName} onChange={setToName} isCode />
      <Select
        label="Bucket"
        value={toBucket}
        choices={(buckets.data ?? [{ name: bucket }]).map((each) => ({
          value: each.name,
          label: each.name,
        }))}
        onChange={setToBucket}
      />
    </FormDialog>
  )
}
