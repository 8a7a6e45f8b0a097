import { useState } from 'react'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { DataTable, RowActions } from '../../ui/data-table.tsx'
import { textArea } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Toolbar } from '../../ui/layout.tsx'
import { changeSynonyms, type SynonymGroup } from './api.ts'

interface SynonymsTabProps {
  readonly table: string
  readonly groups: readonly SynonymGroup[]
}

type OpenDialog =
  | { readonly kind: 'edit'; readonly group: SynonymGroup | undefined }
  | { readonly kind: 'delete'; readonly group: SynonymGroup }

const termsOf = (typed: string) =>
  typed.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

export function SynonymsTab({ table, groups }: SynonymsTabProps) {
  const [dialog, open] = useState<OpenDialog>()
  const options = {
    invalidates: [['search', 'synonyms', table]],
    done: 'Synonyms saved. They apply on every node within a second.',
    onClose: () => open(undefined),
  }
  return (
    <>
      <Toolbar label="Synonyms">
        <span>A search for one term of a group also finds the others.</span>
        <Button needs="change" onClick={() => open({ kind: 'edit', group: undefined })}>
          New group
        </Button>
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
        empty="No synonyms yet, such as “sofa” and “couch”."
        first={['Add the first group', () => open({ kind: 'edit', group: undefined })]}
        columns={[
          ['Terms', ({ terms }) => terms.join(', ')],
          [
            'Actions',
            (group) => (
              <RowActions
                of={group.terms.join(', ')}
                actions={[
                  ['Edit', () => open({ kind: 'edit', group })],
                  ['Delete', () => open({ kind: 'delete', group })],
                ]}
              />
            ),
            'actions',
          ],
        ]}
      />
      {dialog?.kind === 'edit' && (
        <ActionForm
          {...options}
          title={dialog.group === undefined ? 'New synonyms' : 'Edit synonyms'}
          action="Save group"
          size="small"
          start={{ terms: dialog.group?.terms.join('\n') ?? '' }}
          fields={() => ({
            terms: textArea('Terms', {
              rows: 6,
              hint: '2 to 8 terms, one per line. A term may have several words.',
            }),
          })}
          isReady={({ terms }) => termsOf(terms).length >= 2}
          send={({ terms }) =>
            changeSynonyms({ table, before: dialog.group, after: { terms: termsOf(terms) } })
          }
        />
      )}
      {dialog?.kind === 'delete' && (
        <ConfirmAction
          {...options}
          title="Delete synonyms"
          action="Delete group"
          send={() => changeSynonyms({ table, before: dialog.group, after: undefined })}
        >
          A search for one of {dialog.group.terms.join(', ')} no longer finds the others.
        </ConfirmAction>
      )}
    </>
  )
}
