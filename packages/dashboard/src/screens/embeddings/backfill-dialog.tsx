import { checkbox } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { type Embedding, startBackfill } from './api.ts'

interface BackfillDialogProps {
  readonly embedding: Embedding
  readonly onClose: () => void
}

export function BackfillDialog({ embedding: { name, model }, onClose }: BackfillDialogProps) {
  return (
    <ActionForm
      title={`Backfill of ${name}`}
      action="Start backfill"
      lead={
        <p>
          Rows without a vector are queued. All rows are queued if the model, columns or template have changed
          since the last backfill. Their texts are sent to {model}.
        </p>
      }
      start={{ all: false }}
      fields={() => ({
        all: checkbox('Include rows that have a vector', {
          hint: 'Every text is sent to the provider again, which may charge for it.',
        }),
      })}
      send={({ all }) => startBackfill({ name, all })}
      invalidates={[['embeddings']]}
      done="A job is queuing the rows."
      onClose={onClose}
    />
  )
}
