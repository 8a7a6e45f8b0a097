import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { useUserNames } from '../../api/user-names.ts'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import { type As, findUsers, listClients, listKeys } from './api.ts'

const kinds = [
  { value: 'user', label: 'User' },
  { value: 'key', label: 'API key' },
  { value: 'client', label: 'OAuth client' },
  { value: 'anonymous', label: 'No token' },
  { value: 'claims', label: 'Custom claims' },
] as const

/** Renders the fields that select the caller. */
export function CallerFields({
  as,
  onChange,
}: {
  readonly as: As | undefined
  readonly onChange: (as: As | undefined) => void
}) {
  const [kind, setKind] = useState<As['kind']>(as?.kind ?? 'user')
  return (
    <>
      <Select<As['kind']>
        label="Caller"
        value={kind}
        choices={kinds}
        onChange={(next) => {
          setKind(next)
          onChange(next === 'anonymous' ? { kind: next } : undefined)
        }}
      />
      {kind === 'user' && (
        <>
          <UserField
            label="User"
            value={as?.email ?? as?.id ?? ''}
            onChange={(text) => onChange(text === '' ? undefined : { kind, ...named(text), ...aalOf(as) })}
          />
          {as !== undefined && <AalField as={as} onChange={onChange} />}
        </>
      )}
      {kind === 'key' && <KeyField value={as?.id ?? ''} onChange={(id) => onChange({ kind, id })} />}
      {kind === 'client' && <ClientFields as={as} onChange={onChange} />}
      {kind === 'claims' && (
        <>
          <TextField
            label="basalt.user_id"
            isCode
            placeholder="a UUID"
            value={as?.userId ?? ''}
            onChange={(userId) => onChange(userId === '' ? undefined : { ...as, kind, userId })}
          />
          <TextField
            label="basalt.user_email"
            isCode
            value={as?.email ?? ''}
            onChange={(email) =>
              onChange(as && { ...as, email: email.trim(), emailVerified: email.trim() !== '' })
            }
          />
          {as !== undefined && <AalField as={as} onChange={onChange} />}
        </>
      )}
    </>
  )
}

function AalField({ as, onChange }: { readonly as: As; readonly onChange: (as: As) => void }) {
  return (
    <div className={styles.check}>
      <Checkbox
        label="With a second factor (aal2)"
        checked={as.aal === 'aal2'}
        onChange={(isSecond) => onChange({ ...as, aal: isSecond ? 'aal2' : 'aal1' })}
      />
    </div>
  )
}

function UserField({
  label,
  value,
  hint,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly hint?: string
  readonly onChange: (text: string) => void
}) {
  const users = useApi(['access', 'users', value], (signal) => findUsers(value, signal))
  // Links from other screens name the user by id.
  const name = useUserNames([value], /^[0-9a-f-]{36}$/.test(value)).get(value)
  return (
    <>
      <TextField
        label={label}
        placeholder={hint ?? 'email address or id'}
        list="access-users"
        value={name ?? value}
        onChange={(text) => onChange(text.trim())}
      />
      <datalist id="access-users">
        {users.data?.items.map(({ id, email }) => (
          <option key={id} value={email === '' ? id : email}>
            {email === '' ? 'no email address' : id}
          </option>
        ))}
      </datalist>
    </>
  )
}

function KeyField({ value, onChange }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const keys = useApi(['access', 'keys'], listKeys)
  const choices = (keys.data?.items ?? []).map(({ id, name, keyPrefix, revokedAt }) => ({
    value: id,
    label: `${name} (${keyPrefix}…)${revokedAt == null ? '' : ', revoked'}`,
  }))
  return (
    <Select
      label="API key"
      value={value}
      choices={[{ value: '', label: choices.length === 0 ? 'No API keys' : 'Select a key' }, ...choices]}
      onChange={onChange}
    />
  )
}

function ClientFields({
  as,
  onChange,
}: {
  readonly as: As | undefined
  readonly onChange: (as: As | undefined) => void
}) {
  const clients = useApi(['access', 'clients'], listClients)
  const choices = (clients.data?.items ?? []).map(({ clientId, name }) => ({ value: clientId, label: name }))
  const none = clients.error === null ? 'Select a client' : 'The OAuth server is disabled'
  return (
    <>
      <Select
        label="OAuth client"
        value={as?.clientId ?? ''}
        choices={[{ value: '', label: none }, ...choices]}
        onChange={(clientId) => onChange(clientId === '' ? undefined : { kind: 'client', clientId })}
      />
      {as?.clientId !== undefined && (
        <UserField
          label="On behalf of"
          hint="the client itself"
          value={as.email ?? as.id ?? ''}
          onChange={(text) =>
            onChange({
              kind: 'client',
              ...(as.clientId === undefined ? {} : { clientId: as.clientId }),
              ...(text === '' ? {} : named(text)),
            })
          }
        />
      )}
    </>
  )
}

const named = (text: string) => (text.includes('@') ? { email: text } : { id: text })
const aalOf = (as: As | undefined) => (as?.aal === 'aal2' ? ({ aal: 'aal2' } as const) : {})
