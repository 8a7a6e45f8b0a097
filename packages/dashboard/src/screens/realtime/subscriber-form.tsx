import { type ReactNode, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/layout.tsx'
import type { Subscriber } from './api.ts'
import styles from './realtime.module.css'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Renders the fields of a subscriber, which are stored in the URL. */
export function SubscriberForm({
  action,
  onSubmit,
  children,
}: {
  readonly action: string
  readonly onSubmit: (subscriber: Subscriber) => void
  readonly children?: ReactNode
}) {
  const [search, setSearch] = useSearchParams()
  const [as, setAs] = useState(search.get('as') ?? 'admin')
  const [tables, setTables] = useState(search.get('tables') ?? '')
  const [filter, setFilter] = useState(search.get('filter') ?? '')
  const [reason, setReason] = useState(search.get('reason') ?? '')
  const isUser = uuid.test(as)
  const isSubscriber = as === 'admin' || as === 'anonymous' || isUser
  return (
    <Form
      onSubmit={() => {
        if (!isSubscriber || tables.trim() === '') return
        const subscriber = {
          as,
          tables: tables.trim(),
          ...(filter === '' ? {} : { filter }),
          ...(isUser && reason.trim() !== '' ? { reason: reason.trim() } : {}),
        }
        setSearch(subscriber, { replace: true })
        onSubmit(subscriber)
      }}
    >
      <div className={styles.fields}>
        <TextField
          label="Tables"
          value={tables}
          onChange={setTables}
          isCode
          required
          hint="Table names, separated by commas."
        />
        <TextField
          label="As"
          value={as}
          onChange={setAs}
          isCode
          hint="admin, anonymous or a user id."
          error={isSubscriber ? undefined : 'Expected admin, anonymous or a user id.'}
        />
        <TextField
          label="Filter"
          value={filter}
          onChange={setFilter}
          isCode
          hint="For example state=eq.open"
        />
        {isUser && (
          <TextField
            label="Reason"
            value={reason}
            onChange={setReason}
            maxLength={500}
            hint="The audit log stores it."
          />
        )}
        {children}
      </div>
      <div>
        <Button type="submit" variant="primary" disabled={tables.trim() === ''}>
          {action}
        </Button>
      </div>
    </Form>
  )
}
