import { useApi } from '../../api/queries.ts'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { countOf, formatBytes, formatNumber } from '../../ui/format.ts'
import { Notice } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type DeletionPreview, deleteUser, previewDeletion, type User } from './api.ts'
import { nameOf } from './name.ts'

interface DeleteUserDialogProps {
  readonly user: User
  readonly onClose: () => void
  readonly onDeleted: () => void
}

export function DeleteUserDialog({ user, onClose, onDeleted }: DeleteUserDialogProps) {
  const preview = useApi(['users', 'deletion', user.id], (signal) => previewDeletion(user.id, signal))

  return (
    <ConfirmAction
      title="Delete user"
      action="Delete user"
      name={nameOf(user)}
      send={() => deleteUser(user.id)}
      invalidates={[['users']]}
      done="User deleted."
      onDone={onDeleted}
      onClose={onClose}
    >
      <Loaded query={preview}>{(found) => <Consequences preview={found} />}</Loaded>
    </ConfirmAction>
  )
}

const effects: Readonly<Record<string, string>> = {
  cascade: 'deleted',
  'set null': 'set to null',
  'set default': 'set to the default',
  restrict: 'prevents the deletion',
  'no action': 'prevents the deletion',
}

/** Number of rows up to which the server counts. */
const mostCounted = 10_000

function Consequences({ preview }: { readonly preview: DeletionPreview }) {
  const { references, further, files, blockedBy } = preview
  return (
    <>
      {blockedBy.length > 0 && (
        <Notice tone="danger">
          Rows of {blockedBy.join(', ')} prevent the deletion. Remove them first, or change the foreign key.
        </Notice>
      )}
      <p>This cannot be undone. These rows are deleted or changed as well:</p>
      <DataTable
        caption="Rows that reference the user"
        rows={references}
        rowKey={({ table, columns }) => `${table} ${columns.join()}`}
        empty="No rows reference the user."
        columns={[
          ['Table', ({ table, columns }) => `${table} (${columns.join(', ')})`],
          ['Rows', ({ rows }) => describeCount(rows), 'end'],
          ['Effect', ({ action }) => effects[action] ?? action],
        ]}
      />
      {files.count > 0 && (
        <p>
          {countOf(files.count, 'file')} ({formatBytes(files.bytes)}) are deleted.
        </p>
      )}
      {further.length > 0 && (
        <p>
          Rows that reference those rows also change:{' '}
          {further.map(({ table, references: of }) => `${table} (${of})`).join(', ')}.
        </p>
      )}
    </>
  )
}

function describeCount(rows: number | null): string {
  if (rows === null) return 'not counted'
  return rows > mostCounted ? `more than ${formatNumber(mostCounted)}` : formatNumber(rows)
}
