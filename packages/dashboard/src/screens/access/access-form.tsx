import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Select, TextArea, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import type { AccessQuery } from './access-query.ts'
import { type Action, listTables } from './api.ts'
import { CallerFields } from './caller-fields.tsx'

interface AccessFormProps {
  readonly query: AccessQuery
  readonly isPending: boolean
  readonly onSubmit: (query: AccessQuery) => void
}

/** Renders the form: caller, rows and action. */
export function AccessForm({ query, isPending, onSubmit }: AccessFormProps) {
  const [draft, setDraft] = useState(query)
  const change = (part: Partial<AccessQuery>) => setDraft({ ...draft, ...part })
  const writes = draft.action === 'insert' || draft.action === 'update'
  return (
    <form
      className={styles.query}
      aria-label="Request to explain"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit({ ...draft, ids: draft.ids.filter((id) => id !== '') })
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
            label="Row keys, one per line"
            isCode
            rows={1}
            placeholder="the first rows"
            value={draft.ids.join('\n')}
            onChange={(text) => change({ ids: text === '' ? [] : text.split('\n') })}
          />
          <TextField
            label="Or filter"
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
            label={draft.action === 'insert' ? 'Record as JSON' : 'Changes as JSON'}
            isCode
            rows={3}
            placeholder={'{"name": "…"}'}
            value={draft.values}
            onChange={(values) => change({ values })}
          />
        </div>
      )}
      <TextField
        label="Reason"
        placeholder="for the audit log"
        maxLength={500}
        value={draft.reason}
        onChange={(reason) => change({ reason })}
      />
      <Button
        type="submit"
        variant="primary"
        isPending={isPending}
        disabled={draft.as === undefined || draft.table === ''}
      >
        Explain
      </Button>
    </form>
  )
}

function TableField({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (table: string) => void
}) {
  const tables = useApi(['access', 'tables', value], (signal) => listTables(value, signal))
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
        {tables.data?.items.map(({ collection }) => (
          <option key={collection} value={collection} />
        ))}
      </datalist>
    </>
  )
}
