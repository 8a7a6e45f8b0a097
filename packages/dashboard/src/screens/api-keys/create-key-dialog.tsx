import { choice, code, text, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { userOf } from '../users/user-picker.tsx'
import { actionsField, noActions } from './actions-field.tsx'
import { type CreatedKey, createKey, type KeyFilter } from './api.ts'

const scopes = [
  { value: 'readonly', label: 'Read' },
  { value: 'readwrite', label: 'Read and write' },
  { value: '*', label: 'Everything, including procedures' },
] as const

const day = 86_400_000
const lifetimes = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'A year' },
  { value: '', label: 'Never' },
] as const

interface CreateKeyDialogProps extends KeyFilter {
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

export function CreateKeyDialog({ userId: givenUser, appId, onClose, onCreated }: CreateKeyDialogProps) {
  return (
    <ActionForm
      title="Create API key"
      action="Create key"
      start={{
        ...{ name: '', userId: givenUser ?? '', tables: '' },
        ...{ scope: valueIn(scopes, 'readonly'), lifetime: valueIn(lifetimes, '90') },
        actions: noActions,
      }}
      fields={() => ({
        name: text('Name', { required: true, hint: 'Purpose of the key', maxLength: 200 }),
        userId: givenUser === undefined && userOf('Acts as', 'Policies see this user'),
        scope: choice('Scope', scopes),
        tables: code('Tables', {
          hint: 'Separated by commas. Leave empty for all tables. Write rpc:name for a procedure.',
        }),
        actions: actionsField,
        lifetime: choice('Expires after', lifetimes),
      })}
      send={({ tables, lifetime, ...key }) =>
        createKey({
          ...key,
          allowedTables: tables.split(/[\s,]+/).filter((table) => table !== ''),
          actions: [...key.actions],
          ...(appId === undefined ? {} : { appId }),
          ...(lifetime === ''
            ? {}
            : { expiresAt: new Date(Date.now() + Number(lifetime) * day).toISOString() }),
        })
      }
      invalidates={[['api-keys']]}
      onDone={onCreated}
      onClose={onClose}
    />
  )
}
