import { useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { type ListedTemplate, listTemplates } from './api.ts'

export function TemplateList() {
  const templates = useApi(['mail', 'templates'], listTemplates)
  const [newKey, setNewKey] = useState<string>()
  const [, navigate] = useLocation()
  return (
    <>
      <Toolbar label="Templates">
        <Button onClick={() => setNewKey('')}>New template</Button>
      </Toolbar>
      <Loaded query={templates}>
        {({ items }) => (
          <DataTable
            caption="Templates"
            rows={items}
            rowKey={({ templateKey }) => templateKey}
            href={({ templateKey }) => `/mail/${encodeURIComponent(templateKey)}`}
            columns={columns}
          />
        )}
      </Loaded>
      {newKey !== undefined && (
        <FormDialog
          title="New template"
          action="Create template"
          isDisabled={newKey.trim() === ''}
          isPending={false}
          error={null}
          onSubmit={() => navigate(`/mail/${encodeURIComponent(newKey.trim())}`)}
          onClose={() => setNewKey(undefined)}
        >
          <TextField
            label="Key"
            hint="Words separated by dots, such as shop.order_shipped"
            value={newKey}
            onChange={setNewKey}
            isCode
          />
        </FormDialog>
      )}
    </>
  )
}

const columns: readonly Column<ListedTemplate>[] = [
  { key: 'key', title: 'Key', cell: ({ templateKey }) => <code>{templateKey}</code> },
  { key: 'subject', title: 'Subject', cell: ({ subjectTemplate }) => subjectTemplate, isCut: true },
  {
    key: 'source',
    title: 'Source',
    cell: ({ source, enabled }) => (
      <>
        <Badge tone={source === 'custom' ? 'accent' : 'neutral'}>
          {source === 'custom' ? 'custom' : 'built in'}
        </Badge>
        {!enabled && <Badge tone="warning">disabled</Badge>}
      </>
    ),
  },
  { key: 'updated', title: 'Changed', cell: ({ updatedAt }) => <Time value={updatedAt} />, isMinor: true },
]
