import { useState } from 'react'
import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { FilterField, Toolbar } from '../../../ui/layout.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { listRelations } from '../api.ts'
import styles from './diagram.module.css'
import { idOfTable, titleOf } from './shapes.ts'

const suggested = 30

interface TablePickerProps {
  readonly onPick: (table: { readonly schema: string; readonly name: string }) => void
}

/** Finds tables by a part of their name. */
export function TablePicker({ onPick }: TablePickerProps) {
  const [q, setQ] = useState('')
  const relations = useApi(['structure', 'relations', 'picker', q], (signal) =>
    listRelations({ q, schema: '' }, undefined, signal),
  )
  return (
    <>
      <Toolbar label="Tables">
        <FilterField label="Find a table" value={q} onChange={setQ} />
      </Toolbar>
      <Loaded query={relations}>
        {({ items }) => (
          <ul className={styles.picker}>
            {items
              .filter(({ kind }) => kind === 'table' || kind === 'partitioned table')
              .slice(0, suggested)
              .map((table) => (
                <li key={idOfTable(table)}>
                  <Button size="small" onClick={() => onPick(table)}>
                    {titleOf(table)}
                  </Button>
                </li>
              ))}
          </ul>
        )}
      </Loaded>
    </>
  )
}
