import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { type Embedding, startBackfill } from './api.ts'

interface BackfillDialogProps {
  readonly embedding: Embedding
  readonly onClose: () => void
}

export function BackfillDialog({ embedding: { name, model }, onClose }: BackfillDialogProps) {
  const [all, setAll] = useState(false)
  const action = useAction(startBackfill, {
    invalidates: [['embeddings']],
    failure: 'view',
    done: 'A job is queuing the rows.',
    onDone: onClose,
  })
  return (
    <FormDialog
      title={`Backfill of ${name}`}
      action="Start backfill"
      isPending={action.isPending}
      error={action.error}
      onSubmit={() => action.run({ name, all })}
      onClose={onClose}
    >
      <p>
        Rows without a vector are queued. All rows are queued if the model, columns or template have changed
        since the last backfill. Their texts are sent to {model}.
      </p>
      <Checkbox
        label="Include rows that have a vector"
        hint="Every text is sent to the provider again, which may charge for it."
        checked={all}
        onChange={setAll}
      />
    </FormDialog>
  )
}
