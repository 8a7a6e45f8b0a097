import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { FilterField } from '../../../ui/layout.tsx'
import { diagramAddress, tableAddress } from '../addresses.ts'
import type { Diagram } from '../api.ts'
import styles from './diagram.module.css'
import { idOfTable, titleOf } from './shapes.ts'

interface TableIndexProps {
  readonly diagram: Diagram
  readonly active: string | undefined
  readonly onPoint: (id: string | undefined) => void
  /** Called for keyboard focus. The diagram follows it. */
  readonly onFocus: (id: string) => void
}

/** Lists the contents of the diagram. */
export function TableIndex({ diagram, active, onPoint, onFocus }: TableIndexProps) {
  const [text, setText] = useState('')
  const references = useMemo(() => {
    const found = new Map<string, Set<string>>()
    for (const { from, to } of diagram.references) {
      const id = idOfTable(from)
      found.set(id, (found.get(id) ?? new Set()).add(titleOf(to)))
    }
    return found
  }, [diagram])
  const shown = diagram.tables.filter((table) =>
    titleOf(table).toLowerCase().includes(text.trim().toLowerCase()),
  )
  return (
    <nav className={styles.index} aria-label="Tables of the diagram">
      <FilterField label="Find in the diagram" value={text} onChange={setText} />
      <ul>
        {shown.map((table) => {
          const id = idOfTable(table)
          const targets = [...(references.get(id) ?? [])]
          return (
            <li
              key={id}
              data-active={id === active}
              onPointerEnter={() => onPoint(id)}
              onPointerLeave={() => onPoint(undefined)}
            >
              <Link href={tableAddress(table)} onFocus={() => onFocus(id)}>
                {titleOf(table)}
              </Link>
              {targets.length > 0 && <span className={styles.targets}>refers to {targets.join(', ')}</span>}
              <Link
                className={styles.near}
                href={diagramAddress(table)}
                aria-label={`Neighbours of ${titleOf(table)}`}
              >
                Neighbours
              </Link>
            </li>
          )
        })}
      </ul>
      {shown.length === 0 && <p>No tables match.</p>}
    </nav>
  )
}
