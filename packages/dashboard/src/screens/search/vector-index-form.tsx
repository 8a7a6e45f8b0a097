import { useId, useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { describeTable, listTables } from '../tables/api.ts'
import { createVectorIndex, type NewVectorIndex } from './api.ts'

/** Maximum number of suggested tables. */
const suggested = 20

export function VectorIndexForm({ onClose }: { readonly onClose: () => void }) {
  const [table, setTable] = useState('')
  const [column, setColumn] = useState('')
  const [method, setMethod] = useState<NewVectorIndex['method']>('hnsw')
  const [metric, setMetric] = useState<NewVectorIndex['metric']>('cosine')
  const names = useId()
  const tables = useApi(['tables', 'list', table, suggested], (signal) =>
    listTables(table, suggested, signal),
  )
  const isKnown = tables.data?.items.some(({ collection }) => collection === table) === true
  const info = useApi(['tables', 'info', table], (signal) => describeTable(table, signal), {
    enabled: isKnown,
    keepsPrevious: false,
  })
  const vectors = info.data?.columns.filter(({ isVector }) => isVector === true) ?? []
  const chosen = vectors.some(({ name }) => name === column) ? column : (vectors[0]?.name ?? '')
  const build = useAction(createVectorIndex, {
    invalidates: [['search', 'vectors']],
    failure: 'view',
    done: 'Vector index built.',
    onDone: onClose,
  })
  return (
    <FormDialog
      title="Build a vector index"
      action="Build index"
      isDisabled={info.data === undefined || chosen === ''}
      isPending={build.isPending}
      error={build.error}
      onSubmit={() => {
        if (info.data === undefined) return
        const { schema, name } = info.data
        build.run({ schema, table: name, column: chosen, method, metric })
      }}
      onClose={onClose}
    >
      <TextField label="Table" value={table} onChange={setTable} list={names} isCode />
      <datalist id={names}>
        {tables.data?.items.map(({ collection }) => (
          <option key={collection} value={collection} />
        ))}
      </datalist>
      <Select
        label="Column"
        value={chosen}
        onChange={setColumn}
        choices={vectors.map(({ name, type }) => ({ value: name, label: `${name} (${type})` }))}
        error={
          info.data !== undefined && vectors.length === 0 ? 'The table has no vector columns.' : undefined
        }
      />
      <Select
        label="Method"
        value={method}
        onChange={setMethod}
        choices={[
          { value: 'hnsw', label: 'hnsw: faster to search, slower to build' },
          { value: 'ivfflat', label: 'ivfflat: requires existing rows' },
        ]}
      />
      <Select
        label="Metric"
        value={metric}
        onChange={setMetric}
        choices={[
          { value: 'cosine', label: 'cosine' },
          { value: 'l2', label: 'Euclidean distance' },
          { value: 'inner_product', label: 'inner product' },
        ]}
      />
      <p>
        Readers and writers are not blocked. The build continues when this page is closed. One is built at a
        time.
      </p>
    </FormDialog>
  )
}
