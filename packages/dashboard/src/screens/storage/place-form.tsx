import { useId, useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { bucketOf, listBuckets } from './api.ts'

interface PlaceFormProps {
  readonly bucket: string
  readonly name: string
  readonly verb: 'move' | 'copy'
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Where an object is moved or copied to. It never replaces another. */
export function PlaceForm({ bucket, name, verb, onClose, onDone }: PlaceFormProps) {
  const [toBucket, setToBucket] = useState(bucket)
  const [toName, setToName] = useState(name)
  const buckets = useApi(['storage', 'buckets'], listBuckets)
  const form = useId()
  const action = useAction(() => bucketOf(bucket)[verb](name, toName, { bucket: toBucket }), {
    invalidates: [['storage', 'objects']],
    done: verb === 'move' ? 'Object moved.' : 'Object copied.',
    failure: 'view',
    onDone,
  })
  const verbTitle = verb === 'move' ? 'Move' : 'Copy'
  return (
    <Dialog
      title={`${verbTitle} object`}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            look="primary"
            isPending={action.isPending}
            disabled={toName === '' || (toName === name && toBucket === bucket)}
          >
            {verbTitle}
          </Button>
        </>
      }
    >
      <Form id={form} onSubmit={() => action.run()}>
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
        {action.error !== null && <Failure error={action.error} />}
      </Form>
    </Dialog>
  )
}
