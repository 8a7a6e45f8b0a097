import { isBasaltError } from '@basaltdb/client'
import { useState } from 'react'
import { useAction, usePages } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { FilterField, Form, Notice, Section, Toolbar } from '../../ui/layout.tsx'
import { More } from '../../ui/more.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, EmptyState, LoadedRows } from '../../ui/states.tsx'
import {
  changeQuery,
  forgetQuery,
  type ListedQuery,
  listSaved,
  readSaved,
  type SavedQuery,
  saveQuery,
} from './api.ts'
import styles from './sql.module.css'

interface SavedQueriesProps {
  readonly text: string
  /** Saved query that is open, as it was read. */
  readonly opened: SavedQuery | undefined
  readonly onOpen: (query: SavedQuery) => void
  readonly onForget: (query: ListedQuery) => void
  readonly onClose: () => void
}

const listKey = ['sql', 'saved'] as const

/** Lists the queries saved in the database, which all administrators share. */
export function SavedQueries({ text, opened, onOpen, onForget, onClose }: SavedQueriesProps) {
  const [search, setSearch] = useState('')
  const [name, setName] = useState(opened?.name ?? '')
  const [forgotten, setForgotten] = useState<ListedQuery>()
  const saved = usePages([...listKey, search], (cursor, signal) => listSaved(search, cursor, signal))
  const open = useAction(({ id }: ListedQuery) => readSaved(id), {
    invalidates: [listKey],
    onDone(query) {
      setName(query.name)
      onOpen(query)
    },
  })
  const create = useAction(saveQuery, {
    invalidates: [listKey],
    failure: 'view',
    done: 'Query saved.',
    onDone: onOpen,
  })
  const change = useAction(
    (version: number) => changeQuery(opened?.id ?? '', { name, query: text, version }),
    { invalidates: [listKey], failure: 'view', done: 'Query saved.', onDone: onOpen },
  )
  const current = currentOf(change.error)
  return (
    <SidePanel title="Saved queries" onClose={onClose}>
      <Section title="Save the text of the editor">
        <Form
          onSubmit={() =>
            opened === undefined ? create.run({ name, query: text }) : change.run(opened.version)
          }
        >
          <TextField
            label="Name"
            hint="Slashes create folders: reports/sales."
            value={name}
            onChange={setName}
            error={
              current === undefined ? (opened === undefined ? create : change).error?.message : undefined
            }
          />
          {current !== undefined && (
            <Notice tone="warning">
              <p>Another administrator has changed this query.</p>
              <pre className={styles.historyQuery}>{current.query}</pre>
              <Button
                size="small"
                onClick={() => {
                  change.reset()
                  onOpen(current)
                }}
              >
                Open the other version
              </Button>{' '}
              <Button size="small" variant="danger" onClick={() => change.run(current.version)}>
                Overwrite the other version
              </Button>
            </Notice>
          )}
          <div className={styles.buttons}>
            <Button type="submit" isPending={create.isPending || change.isPending}>
              {opened === undefined ? 'Save' : 'Save changes'}
            </Button>
            {opened !== undefined && (
              <Button onClick={() => create.run({ name, query: text })}>Save as another</Button>
            )}
          </div>
        </Form>
      </Section>
      <Section title="Saved">
        <Toolbar label="Saved queries">
          <FilterField label="Search names" value={search} onChange={setSearch} />
        </Toolbar>
        <LoadedRows list={saved}>
          {(items) => (
            <Folders
              items={items}
              isFiltered={search !== ''}
              openedId={opened?.id}
              onOpen={open.run}
              onForget={setForgotten}
            />
          )}
        </LoadedRows>
        <More list={saved} />
      </Section>
      {forgotten !== undefined && (
        <ConfirmAction
          title="Delete the saved query?"
          action="Delete"
          send={() => forgetQuery(forgotten.id)}
          invalidates={[listKey]}
          done="Query deleted."
          onDone={() => {
            setForgotten(undefined)
            onForget(forgotten)
          }}
          onClose={() => setForgotten(undefined)}
        >
          <p>
            <strong>{forgotten.name}</strong> is deleted for all administrators.
          </p>
        </ConfirmAction>
      )}
    </SidePanel>
  )
}

interface FoldersProps {
  readonly items: readonly ListedQuery[]
  readonly isFiltered: boolean
  readonly openedId: string | undefined
  readonly onOpen: (query: ListedQuery) => void
  readonly onForget: (query: ListedQuery) => void
}

function Folders({ items, isFiltered, openedId, onOpen, onForget }: FoldersProps) {
  if (items.length === 0 && isFiltered) return <Empty>No entries match.</Empty>
  if (items.length === 0) {
    return (
      <EmptyState>
        No saved queries yet. A name above saves the text of the editor for all administrators.
      </EmptyState>
    )
  }
  const folders = Map.groupBy(items, ({ name }) => name.split('/').slice(0, -1).join('/'))
  return [...folders].map(([folder, queries]) => (
    <div key={folder}>
      {folder !== '' && <h3 className={styles.folder}>{folder}</h3>}
      <ul className={styles.saved}>
        {queries.map((query) => (
          <li key={query.id}>
            <Button
              variant="plain"
              aria-current={query.id === openedId || undefined}
              onClick={() => onOpen(query)}
            >
              {query.name.split('/').at(-1)}
            </Button>
            <Button size="small" aria-label={`Delete ${query.name}`} onClick={() => onForget(query)}>
              Delete
            </Button>
          </li>
        ))}
      </ul>
    </div>
  ))
}

/** Returns the version of another administrator from a conflict response. */
function currentOf(error: Error | null): SavedQuery | undefined {
  if (!isBasaltError(error, 'saved_query_changed')) return undefined
  // The server documents this member.
  return error.data?.current as SavedQuery | undefined
}
