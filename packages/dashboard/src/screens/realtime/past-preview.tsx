import { useState } from 'react'
import { usePages } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { TextField } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Badge, Notice, Toolbar } from '../../ui/layout.tsx'
import { More } from '../../ui/more.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { toInstant } from '../../ui/time-range.tsx'
import { preview, type Subscriber } from './api.ts'
import styles from './realtime.module.css'
import { SubscriberForm } from './subscriber-form.tsx'

/** Shows the messages that a subscriber would have received since a time. */
export function PastPreview() {
  const [since, setSince] = useState('')
  const [request, setRequest] = useState<Subscriber & { readonly since?: string | undefined }>()
  const list = usePages(
    ['realtime', 'preview', request],
    async (cursor, signal) => {
      const { since: from, ...subscriber } = request ?? { as: 'admin', tables: '' }
      const page = await preview(subscriber, { since: from, cursor }, signal)
      return { items: [page], next: page.nextCursor }
    },
    { enabled: request !== undefined },
  )
  const query = request && new URLSearchParams({ as: request.as, tables: request.tables }).toString()
  return (
    <>
      <SubscriberForm
        action="Preview"
        onSubmit={(subscriber) => setRequest({ ...subscriber, since: toInstant(since) })}
      >
        <TextField
          label="Since"
          type="datetime-local"
          value={since}
          onChange={setSince}
          hint="Leave empty for the whole log."
        />
      </SubscriberForm>
      {request !== undefined && (
        <LoadedRows list={list}>
          {(pages) => {
            const decided = pages.reduce((sum, page) => sum + page.decided, 0)
            const items = pages.flatMap((page) => page.items)
            return (
              <>
                <Toolbar label="Preview">
                  <span role="status">
                    {countOf(items.length, 'message')} of {countOf(decided, 'change')} in the log
                  </span>
                  <AsCode request={{ method: 'GET', path: `/api/admin/realtime/preview?${query}` }} />
                </Toolbar>
                {pages.some((page) => page.hasGap) && (
                  <Notice tone="warning">
                    Some changes could not be evaluated, because their policies read rows of other tables that
                    were deleted.
                  </Notice>
                )}
                <ol className={styles.messages} aria-label="Messages">
                  {items.map((item) => (
                    <li key={item.id}>
                      <Time value={item.happenedAt} /> <Badge>{item.id}</Badge> <code>{item.data}</code>
                    </li>
                  ))}
                </ol>
                <More list={list} />
              </>
            )
          }}
        </LoadedRows>
      )}
    </>
  )
}
