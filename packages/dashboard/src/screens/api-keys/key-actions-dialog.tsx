import { ActionForm } from '../../ui/form-dialog.tsx'
import { actionsField } from './actions-field.tsx'
import { type ApiKey, updateKey } from './api.ts'

interface KeyActionsDialogProps {
  readonly apiKey: ApiKey
  readonly onClose: () => void
}

export function KeyActionsDialog({ apiKey, onClose }: KeyActionsDialogProps) {
  return (
    <ActionForm
      title={`Actions of ${apiKey.name}`}
      action="Save"
      start={{ actions: apiKey.actions }}
      fields={() => ({ actions: actionsField })}
      send={({ actions }) => updateKey(apiKey.id, { actions: [...actions] })}
      invalidates={[['api-keys']]}
      done="Key saved. Its actions change within a second."
      onClose={onClose}
    />
  )
}
