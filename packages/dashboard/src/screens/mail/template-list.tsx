import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { code } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { type ListedTemplate, listTemplates } from './api.ts'

export function TemplateList() {
  const templates = useApi(['mail', 'templates'], listTemplates)
  const [isNew, setNew] = useState(false)
  const [, navigate] = useLocation()
  return (
    <>
      <Toolbar label="Templates">
        <Button needs="change" onClick={() => setNew(true)}>
          New template
        </Button>
      </Toolbar>
      <List
        caption="Templates"
        of={templates}
        rowKey={({ templateKey }) => templateKey}
        href={({ templateKey }) => `/mail/${encodeURIComponent(templateKey)}`}
        columns={columns}
      />
      {isNew && (
        <ActionForm
          title="New template"
          action="Create template"
          start={{ key: '' }}
          fields={() => ({
            key: code('Key', { hint: 'Words separated by dots, such as shop.order_shipped', required: true }),
          })}
          send={async ({ key }) => navigate(`/mail/${encodeURIComponent(key.trim())}`)}
          onClose={() => setNew(false)}
        />
      )}
    </>
  )
}

const columns: readonly Column<ListedTemplate>[] = [
  ['Key', ({ templateKey }) => <code>{templateKey}</code>],
  ['Subject', ({ subjectTemplate }) => subjectTemplate, 'cut'],
  [
    'Source',
    ({ source, enabled }) => (
      <>
        <Badge tone={source === 'custom' ? 'accent' : 'neutral'}>
          {source === 'custom' ? 'custom' : 'built in'}
        </Badge>
        {!enabled && <Badge tone="warning">disabled</Badge>}
      </>
    ),
  ],
  ['Changed', ({ updatedAt }) => <Time value={updatedAt} />, 'minor'],
]
