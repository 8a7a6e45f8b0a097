import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Select, TextArea, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import { type Action, type As, findUsers, listClients, listKeys, listTables } from './api.ts'
import type { Question } from './question.ts'

interface QuestionFormProps {
  readonly question: Question
  readonly isPending: boolean
  readonly onAsk: (question: Question) => void
}

/** Who, which rows, and what is done with them. */
export function QuestionForm({ question, isPending, onAsk }: QuestionFormProps) {
  const [draft, setDraft] = useState(question)
  const change = (part: Partial<Question>) => setDraft({ ...draft, ...part })
  const writes = draft.action === 'insert' || draft.action === 'update'
  return (
    <form
      className={styles.question}
      aria-label="What to explain"
      onSubmit={(event) => {
        event.preventDefault()
        onAsk({ ...draft, ids: draft.ids.filter((id) => id !== '') })
      }}
    >
      <CallerFields as={draft.as} onChange={(as) => change({ as })} />
      <TableField value={draft.table} onChange={(table) => change({ table })} />
      <Select<Action>
        label="Action"
        value={draft.action}
        onChange={(action) => change({ action })}
        choices={[
          { value: 'select', label: 'select: read rows' },
          { value: 'insert', label: 'insert: add a row' },
          { value: 'update', label: 'update: change rows' },
          { value: 'delete', label: 'delete: delete rows' },
        ]}
      />
      {draft.action !== 'insert' && (
        <>
          <TextArea
            label="Rows by key, one in a line"
            isCode
            rows={1}
            placeholder="the first ones"
            value={draft.ids.join('\n')}
            onChange={(text) => change({ ids: text === '' ? [] : text.split('\n') })}
          />
          <TextField
            label="or by filter"
            isCode
            placeholder="status='open'"
            disabled={draft.ids.length > 0}
            value={draft.filter}
            onChange={(filter) => change({ filter })}
          />
        </>
      )}
      {writes && (
        <div className={styles.wide}>
          <TextArea
            label={draft.action === 'insert' ? 'The record, as JSON' : 'What changes, as JSON'}
            isCode
            rows={3}
            placeholder={'{"name": "…"}'}
            value={draft.values}
            onChange={(values) => change({ values })}
          />
        </div>
      )}
      <Button
        type="submit"
        look="primary"
        isPending={isPending}
        disabled={draft.as === undefined || draft.table === ''}
      >
        Explain
      </Button>
    </form>
  )
}

const kinds = [
  { value: 'user', label: 'A user' },
  { value: 'key', label: 'An API key' },
  { value: 'client', label: 'An OAuth client' },
  { value: 'anonymous', label: 'Without a token' },
  { value: 'claims', label: 'Free claims' },
] as const

function CallerFields({
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
        label="Who"
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
        label="after a second factor (aal2)"
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
  return (
    <>
      <TextField
        label={label}
        placeholder={hint ?? 'address or id'}
        list="access-users"
        value={value}
        onChange={(text) => onChange(text.trim())}
      />
      <datalist id="access-users">
        {users.data?.items.map(({ id, email }) => (
          <option key={id} value={email === '' ? id : email}>
            {email === '' ? 'without an address' : id}
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
      choices={[{ value: '', label: choices.length === 0 ? 'none exists' : 'Choose a key' }, ...choices]}
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
  const none = clients.error === null ? 'Choose a client' : 'the OAuth server is off'
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
          label="for the user"
          hint="for itself"
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

function TableField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (table: string) => void
}) {
  const tables = useApi(['access', 'tables'], listTables)
  const found = (tables.data?.items ?? [])
    .filter(({ collection }) => collection.includes(value))
    .slice(0, 200)
  return (
    <>
      <TextField
        label="Table"
        isCode
        list="access-tables"
        value={value}
        onChange={(table) => onChange(table.trim())}
      />
      <datalist id="access-tables">
        {found.map(({ collection }) => (
          <option key={collection} value={collection} />
        ))}
      </datalist>
    </>
  )
}

const named = (text: string) => (text.includes('@') ? { email: text } : { id: text })
const aalOf = (as: As | undefined) => (as?.aal === 'aal2' ? ({ aal: 'aal2' } as const) : {})
