import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { ActionsField } from './actions-field.tsx'
import { type ApiKey, updateKey } from './api.ts'

interface KeyActionsDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

export function KeyActionsDialog({ apiKey, onClose }: KeyActionsDialogProps) {
  const [actions, setActions] = useState(apiKey.actions)
  const save = useAction(() => updateKey(apiKey.id, { actions: [...actions] }), {
    invalidates: [['api-keys']],
    done: 'Key saved. Its actions change within a second.',
    onDone: onClose,
    failure: 'view',
  })
  return (
    <FormDialog
      title={`Actions of ${apiKey.name}`}
      action="Save"
      isPending={save.isPending}
      error={save.error}
      onSubmit={() => save.run()}
      onClose={onClose}
    >
      <ActionsField legend="Additional actions" value={actions} onChange={setActions} />
    </FormDialog>
  )
}
