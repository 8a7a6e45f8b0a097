import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Checkbox, TextArea } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { countOf } from '../../ui/format.ts'
import { purgeCopies } from './api.ts'

/** Purges cached copies from the content delivery network. */
export function PurgeForm({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [isWhole, setWhole] = useState(false)
  const action = useAction(purgeCopies, {
    done: ({ operation, submitted, provider }) =>
      provider === 'nop'
        ? 'No content delivery network is configured. There is nothing to purge.'
        : `Purge of ${operation === 'purge_all' ? 'all copies' : countOf(submitted, 'URL')} recorded.`,
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
        label="URLs, one per line"
        value={text}
        onChange={setText}
        rows={4}
        isCode
        disabled={isWhole}
        hint="Absolute URLs as clients use them. Replaced and deleted objects are purged automatically."
      />
      <Checkbox label="All copies" hint="At most once a minute." checked={isWhole} onChange={setWhole} />
      <AsCode request={{ method: 'POST', path: '/api/admin/storage/cdn/purge', body }} />
    </FormDialog>
  )
}
