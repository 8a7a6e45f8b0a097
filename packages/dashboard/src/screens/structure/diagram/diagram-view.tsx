import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useApi } from '../../../api/queries.ts'
import { AsCode } from '../../../ui/as-code.tsx'
import { Button } from '../../../ui/button.tsx'
import { Checkbox, Select } from '../../../ui/field.tsx'
import { formatNumber } from '../../../ui/format.ts'
import { Notice, Toolbar } from '../../../ui/layout.tsx'
import { EmptyState, Loaded } from '../../../ui/states.tsx'
import { queryPath } from '../../activity/query-path.ts'
import { newTableAddress } from '../addresses.ts'
import { type Diagram, readDiagram, readObjects } from '../api.ts'
import styles from './diagram.module.css'
import { Picture } from './picture.tsx'
import { idOfTable, titleOf } from './shapes.ts'
import { TableIndex } from './table-index.tsx'
import { TablePicker } from './table-picker.tsx'

/**
 * Shows tables and their foreign keys: all of them, those of a schema, or those around one table. The URL stores the selection.
 */
export function DiagramView() {
  const [search, setSearch] = useSearchParams()
  const [showsAll, setShowsAll] = useState(false)
  const schema = search.get('schema') ?? ''
  const near = search.get('near') ?? ''
  const query =
    near === '' ? { schema: schema || undefined } : { aroundSchema: schema || 'public', aroundName: near }
  const objects = useApi(['structure', 'objects'], readObjects)
  const diagram = useApi(['structure', 'diagram', query], (signal) => readDiagram(query, signal))
  const show = (part: Readonly<Record<string, string>>) => setSearch({ view: 'diagram', ...part })
  return (
    <>
      <Toolbar label="Diagram">
        {near === '' ? (
          <Select
            label="Schema"
            hidesLabel
            value={schema}
            onChange={(next) => show(next === '' ? {} : { schema: next })}
            choices={[
              { value: '', label: 'All schemas' },
              ...(objects.data?.schemas ?? []).map(({ name }) => ({ value: name, label: name })),
            ]}
          />
        ) : (
          <>
            <span>
              Around <code>{titleOf({ schema: schema || 'public', name: near })}</code>
            </span>
            <Button size="small" onClick={() => show({})}>
              All tables
            </Button>
          </>
        )}
        <Checkbox label="All columns" checked={showsAll} onChange={setShowsAll} />
        <AsCode request={{ method: 'GET', path: queryPath('/api/admin/structure/diagram', query) }} />
      </Toolbar>
      <Loaded query={diagram}>
        {(found) =>
          found.count > found.tables.length ? (
            <>
              <Notice>
                {formatNumber(found.count)} tables are too many for one diagram. Select a schema, or a table
                to show with its neighbours.
              </Notice>
              <TablePicker onPick={(table) => show({ near: table.name, schema: table.schema })} />
            </>
          ) : (
            <DiagramContent key={JSON.stringify(query)} diagram={found} showsAll={showsAll} />
          )
        }
      </Loaded>
    </>
  )
}

function DiagramContent({ diagram, showsAll }: { readonly diagram: Diagram; readonly showsAll: boolean }) {
  const [active, setActive] = useState<string>()
  const [centered, setCentered] = useState<string>()
  if (diagram.tables.length === 0) {
    return (
      <EmptyState first={['Create a table', newTableAddress]}>
        No tables yet. Tables and their foreign keys are drawn here.
      </EmptyState>
    )
  }
  const known = diagram.tables.some((table) => idOfTable(table) === active) ? active : undefined
  return (
    <div className={styles.view}>
      <Picture diagram={diagram} showsAll={showsAll} active={known} centered={centered} onPoint={setActive} />
      <TableIndex
        diagram={diagram}
        active={known}
        onPoint={setActive}
        onFocus={(id) => {
          setActive(id)
          setCentered(id)
        }}
      />
    </div>
  )
}
