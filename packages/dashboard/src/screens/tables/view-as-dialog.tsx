import { useState } from 'react'
import { currentAdministrator } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import { useStore } from '../../api/store.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { FilterField } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import type { Reader } from './api.ts'

interface ViewAsDialogProps {
  readonly onPick: (reader: Reader) => void
  readonly onClose: () => void
}

/** Selects a user whose policies apply to the rows. */
export function ViewAsDialog({ onPick, onClose }: ViewAsDialogProps) {
  const [search, setSearch] = useState('')
  const [reason, setReason] = useState('')
  const isReasonRequired = useStore(currentAdministrator)?.role === 'support'
  const given = reason.trim()
  const users = useApi(['users', 'choices', search], (signal) =>
    get<'users.list'>('admin/users', { search: search === '' ? undefined : search, perPage: 20 }, { signal }),
  )
  return (
    <Dialog title="View as a user" isOpen onClose={onClose}>
      <FilterField label="Find a user" value={search} onChange={setSearch} autoFocus />
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        maxLength={500}
        required={isReasonRequired}
        hint="The audit log stores it."
      />
      <List
        caption="Users"
        of={users}
        isFiltered
        columns={[
          ['Email', ({ email, id }) => email ?? id, 'cut'],
          [
            '',
            ({ id, email }) => (
              <Button
                size="small"
                aria-label={`View as ${email ?? id}`}
                disabled={isReasonRequired && given === ''}
                onClick={() => onPick(given === '' ? { as: id } : { as: id, reason: given })}
              >
                View
              </Button>
            ),
            'end',
          ],
        ]}
      />
    </Dialog>
  )
}
