import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Select, TextArea, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import { type Action, listTables } from './api.ts'
import { CallerFields } from './caller-fields.tsx'
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
