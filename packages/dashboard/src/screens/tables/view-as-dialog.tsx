import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { get } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FilterField } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'

interface ViewAsDialogProps {
  readonly onPick: (userId: string) => void
  readonly onClose: () => void
}

/** Selects a user whose policies apply to the rows. */
export function ViewAsDialog({ onPick, onClose }: ViewAsDialogProps) {
  const [search, setSearch] = useState('')
  const users = useApi(['users', 'choices', search], (signal) =>
    get<'users.list'>('admin/users', { search: search === '' ? undefined : search, perPage: 20 }, { signal }),
  )
  return (
    <Dialog title="View as a user" isOpen onClose={onClose}>
      <FilterField label="Find a user" value={search} onChange={setSearch} autoFocus />
      <Loaded query={users}>
        {({ items }) => (
          <DataTable
            caption="Users"
            rows={items}
            rowKey={({ id }) => id}
            empty="No users match."
            columns={[
              { key: 'email', title: 'Email', cell: ({ email, id }) => email ?? id, isCut: true },
              {
                key: 'pick',
                title: '',
                align: 'end',
                cell: ({ id, email }) => (
                  <Button size="small" aria-label={`View as ${email ?? id}`} onClick={() => onPick(id)}>
                    View
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Dialog>
  )
}
