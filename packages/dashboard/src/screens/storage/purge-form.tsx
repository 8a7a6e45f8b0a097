import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Checkbox, TextArea } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { countOf } from '../../ui/format.ts'
import { purgeCopies } from './api.ts'

/** Removes what the content delivery network before the server keeps. */
export function PurgeForm({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [isWhole, setWhole] = useState(false)
  const action = useAction(purgeCopies, {
    done: ({ operation, submitted, provider }) =>
      provider === 'nop'
        ? 'No content delivery network is configured: there is nothing to purge.'
        : `Purge of ${operation === 'purge_all' ? 'all copies' : countOf(submitted, 'address', 'addresses')} recorded.`,
    failure: 'view',
    onDone: onClose,
  })
  const urls = text.split(/\s+/).filter(Boolean)
  const body = isWhole ? { purge_all: true as const } : { urls }
  return (
    <FormDialog
      title="Purge the content delivery network"
      action="Purge"
      isDisabled={!isWhole && urls.length === 0}
      isPending={action.isPending}
      error={action.error}
      onSubmit={() => action.run(body)}
      onClose={onClose}
    >
      <TextArea
        label="Addresses, one in a line"
        value={text}
        onChange={setText}
        rows={4}
        isCode
        disabled={isWhole}
        hint="Absolute, as clients have them. Objects that are replaced or deleted are purged without this."
      />
      <Checkbox label="All copies" hint="Once a minute." checked={isWhole} onChange={setWhole} />
      <AsCode request={{ method: 'POST', path: '/api/admin/storage/cdn/purge', body }} />
    </FormDialog>
  )
}
