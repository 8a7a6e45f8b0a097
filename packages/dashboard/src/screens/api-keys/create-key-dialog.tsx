import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { UserPicker } from '../users/user-picker.tsx'
import { type Action, ActionsField } from './actions-field.tsx'
import { type CreatedKey, createKey, type KeyFilter, type NewKey } from './api.ts'

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
  const [name, setName] = useState('')
  const [userId, setUserId] = useState(givenUser ?? '')
  const [scope, setScope] = useState<(typeof scopes)[number]['value']>('readonly')
  const [actions, setActions] = useState<readonly Action[]>([])
  const [tables, setTables] = useState('')
  const [lifetime, setLifetime] = useState<(typeof lifetimes)[number]['value']>('90')
  const create = useAction((key: NewKey) => createKey(key), {
    invalidates: [['api-keys']],
    onDone: onCreated,
    failure: 'view',
  })
  const submit = () =>
    create.run({
      userId,
      name,
      scope,
      allowedTables: tables.split(/[\s,]+/).filter((table) => table !== ''),
      actions: [...actions],
      ...(appId === undefined ? {} : { appId }),
      ...(lifetime === '' ? {} : { expiresAt: new Date(Date.now() + Number(lifetime) * day).toISOString() }),
    })
  return (
    <FormDialog
      title="Create API key"
      action="Create key"
      isDisabled={name.trim() === '' || userId === ''}
      isPending={create.isPending}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" hint="Purpose of the key" maxLength={200} value={name} onChange={setName} />
      {givenUser === undefined && (
        <UserPicker label="Acts as" hint="Policies see this user" value={userId} onChange={setUserId} />
      )}
      <Select label="Scope" value={scope} choices={scopes} onChange={setScope} />
      <TextField
        label="Tables"
        hint="Separated by commas. Leave empty for all tables. Write rpc:name for a procedure."
        value={tables}
        onChange={setTables}
        isCode
      />
      <ActionsField legend="Additional actions" value={actions} onChange={setActions} />
      <Select label="Expires after" value={lifetime} choices={lifetimes} onChange={setLifetime} />
    </FormDialog>
  )
}
