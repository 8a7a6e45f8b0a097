import { AsCode } from '../../ui/as-code.tsx'
import { checkbox, textArea } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { countOf } from '../../ui/format.ts'
import { purgeCopies } from './api.ts'

/** Purges cached copies from the content delivery network. */
export function PurgeForm({ onClose }: { readonly onClose: () => void }) {
  const start = { urls: '', isWhole: false }
  const bodyOf = ({ urls, isWhole }: typeof start) =>
    isWhole ? { purge_all: true as const } : { urls: urls.split(/\s+/).filter(Boolean) }
  return (
    <ActionForm
      title="Purge the content delivery network"
      action="Purge"
      start={start}
      fields={({ isWhole }) => ({
        urls: textArea('URLs, one per line', {
          ...{ isCode: true, disabled: isWhole },
          hint: 'Absolute URLs as clients use them. Replaced and deleted objects are purged automatically.',
        }),
        isWhole: checkbox('All copies', { hint: 'At most once a minute.' }),
      })}
      isReady={({ urls, isWhole }) => isWhole || urls.trim() !== ''}
      send={(draft) => purgeCopies(bodyOf(draft))}
      done={({ operation, submitted, provider }) =>
        provider === 'nop'
          ? 'No content delivery network is configured. There is nothing to purge.'
          : `Purge of ${operation === 'purge_all' ? 'all copies' : countOf(submitted, 'URL')} recorded.`
      }
      onClose={onClose}
    >
      {(draft) => (
        <AsCode request={{ method: 'POST', path: '/api/admin/storage/cdn/purge', body: bodyOf(draft) }} />
      )}
    </ActionForm>
  )
}
