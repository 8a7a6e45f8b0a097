import { useApi } from '../../api/queries.ts'
import { choice, choicesOf, code } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
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
  const buckets = useApi(['storage', 'buckets'], listBuckets)
  const verbTitle = verb === 'move' ? 'Move' : 'Copy'
  const names = (buckets.data ?? [{ name: bucket }]).map((each) => each.name)
  return (
    <ActionForm
      title={`${verbTitle} object`}
      action={verbTitle}
      start={{ toName: name, toBucket: bucket }}
      fields={() => ({ toName: code('Name'), toBucket: choice('Bucket', choicesOf(names)) })}
      isReady={({ toName, toBucket }) => toName !== '' && (toName !== name || toBucket !== bucket)}
      send={({ toName, toBucket }) => bucketOf(bucket)[verb](name, toName, { bucket: toBucket })}
      invalidates={[['storage', 'objects']]}
      done={verb === 'move' ? 'Object moved.' : 'Object copied.'}
      onDone={onDone}
      onClose={onClose}
    />
  )
}
