import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { TextArea } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Toolbar } from '../../ui/layout.tsx'
import { changeSynonyms, type SynonymGroup } from './api.ts'

interface SynonymsTabProps {
  readonly table: string
  readonly groups: readonly SynonymGroup[]
}

type OpenDialog =
  | { readonly kind: 'edit'; readonly group: SynonymGroup | undefined }
  | { readonly kind: 'delete'; readonly group: SynonymGroup }

export function SynonymsTab({ table, groups }: SynonymsTabProps) {
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  const change = useAction(changeSynonyms, {
    invalidates: [['search', 'synonyms', table]],
    failure: 'view',
    done: 'Synonyms saved. They apply on every node within a second.',
    onDone: close,
  })
  const open = (next: OpenDialog) => {
    change.reset()
    setDialog(next)
  }
  const state = { isPending: change.isPending, error: change.error, onClose: close }
  return (
    <>
      <p>A search for one term of a group also finds the others.</p>
      <Toolbar label="Synonyms">
        <Button onClick={() => open({ kind: 'edit', group: undefined })}>New group</Button>
        <AsCode
          request={{
            method: 'PUT',
            path: `/api/collections/${encodeURIComponent(table)}/synonyms`,
            body: { groups },
          }}
        />
      </Toolbar>
      <DataTable
        caption="Synonyms"
        rows={groups}
        rowKey={({ terms }) => JSON.stringify(terms)}
        empty="No synonyms."
        columns={[
          { key: 'terms', title: 'Terms', cell: ({ terms }) => terms.join(', ') },
          {
            key: 'actions',
            title: <span className="visually-hidden">Actions</span>,
            align: 'end',
            cell: (group) => (
              <>
                <Button
                  size="small"
                  aria-label={`Edit ${group.terms.join(', ')}`}
                  onClick={() => open({ kind: 'edit', group })}
                >
                  Edit
                </Button>{' '}
                <Button
                  size="small"
                  aria-label={`Delete ${group.terms.join(', ')}`}
                  onClick={() => open({ kind: 'delete', group })}
                >
                  Delete
                </Button>
              </>
            ),
          },
        ]}
      />
      {dialog?.kind === 'edit' && (
        <GroupForm
          {...state}
          group={dialog.group}
          onSubmit={(after) => change.run({ table, before: dialog.group, after })}
        />
      )}
      {dialog?.kind === 'delete' && (
        <ConfirmDialog
          {...state}
          title="Delete synonyms"
          action="Delete group"
          onConfirm={() => change.run({ table, before: dialog.group, after: undefined })}
        >
          A search for one of {dialog.group.terms.join(', ')} no longer finds the others.
        </ConfirmDialog>
      )}
    </>
  )
}

interface GroupFormProps {
  /** Group to edit; undefined for a new one. */
  readonly group: SynonymGroup | undefined
  readonly isPending: boolean
  readonly error: Error | null
  readonly onSubmit: (group: SynonymGroup) => void
  readonly onClose: () => void
}

function GroupForm({ group, onSubmit, ...rest }: GroupFormProps) {
  const [text, setText] = useState(group?.terms.join('\n') ?? '')
  const terms = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  return (
    <FormDialog
      {...rest}
      title={group === undefined ? 'New synonyms' : 'Edit synonyms'}
      action="Save group"
      size="small"
      isDisabled={terms.length < 2}
      onSubmit={() => onSubmit({ terms })}
    >
      <TextArea
        label="Terms"
        value={text}
        onChange={setText}
        rows={6}
        hint="2 to 8 terms, one per line. A term may have several words."
      />
    </FormDialog>
  )
}
