import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { FilterField } from '../../ui/layout.tsx'
import { quoteIfNeeded } from '../../ui/sql.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { SchemaNames } from './api.ts'
import styles from './sql.module.css'

/** Maximum number of relations of a schema. The filter finds the others. */
const shownRelations = 200

interface SchemaTreeProps {
  readonly names: UseQueryResult<SchemaNames[]>
  readonly onInsert: (text: string) => void
}

/** Renders the tables of the schemas with their columns. A name is inserted into the editor. */
export function SchemaTree({ names, onInsert }: SchemaTreeProps) {
  const [search, setSearch] = useState('')
  const filter = (all: readonly SchemaNames[]) =>
    all
      .map(({ schema, relations }) => ({
        schema,
        relations: relations.filter(({ name }) => name.includes(search.trim().toLowerCase())),
      }))
      .filter(({ relations }) => relations.length > 0)
  return (
    <aside className={styles.tree} aria-label="Schema">
      <details className={styles.fold} open={!isNarrow}>
        <summary>Tables</summary>
        <FilterField label="Find a table" value={search} onChange={setSearch} />
        <Loaded query={names}>
          {(all) => {
            const schemas = filter(all)
            if (schemas.length === 0)
              return <Empty>{search === '' ? 'No tables yet.' : 'No tables match.'}</Empty>
            return schemas.map(({ schema, relations }) => (
              <details key={schema} open={schema === 'public' || search !== '' || schemas.length === 1}>
                <summary>{schema}</summary>
                {relations.slice(0, shownRelations).map(({ name, columns }) => {
                  const path = (schema === 'public' ? [name] : [schema, name]).map(quoteIfNeeded).join('.')
                  return (
                    <Relation
                      key={name}
                      name={name}
                      names={[path, ...columns.map(quoteIfNeeded)]}
                      onInsert={onInsert}
                    />
                  )
                })}
                {relations.length > shownRelations && (
                  <p className={styles.muted}>{relations.length - shownRelations} more. Use the filter.</p>
                )}
              </details>
            ))
          }}
        </Loaded>
      </details>
    </aside>
  )
}

/** True on screens on which the tree is above the editor, folded. */
const isNarrow = matchMedia('(max-width: 60rem)').matches

interface RelationProps {
  readonly name: string
  /** Quoted names of the relation and its columns. */
  readonly names: readonly string[]
  readonly onInsert: (text: string) => void
}

function Relation({ name, names, onInsert }: RelationProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{name}</summary>
      {isOpen &&
        names.map((each, index) => (
          <Button
            key={each}
            variant="plain"
            size="small"
            aria-label={`Insert ${each}`}
            onClick={() => onInsert(index === 0 ? each : `${each}, `)}
          >
            <code>{each}</code>
          </Button>
        ))}
    </details>
  )
}
