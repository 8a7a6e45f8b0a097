import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { choice, suggested, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { describeTable, listTables } from '../tables/api.ts'
import { createVectorIndex } from './api.ts'

/** Maximum number of suggested tables. */
const mostTables = 20

const methods = [
  { value: 'hnsw', label: 'hnsw: faster to search, slower to build' },
  { value: 'ivfflat', label: 'ivfflat: requires existing rows' },
] as const

const metrics = [
  { value: 'cosine', label: 'cosine' },
  { value: 'l2', label: 'Euclidean distance' },
  { value: 'inner_product', label: 'inner product' },
] as const

export function VectorIndexForm({ onClose }: { readonly onClose: () => void }) {
  const [table, setTable] = useState('')
  const tables = useApi(['tables', 'list', table, mostTables], (signal) =>
    listTables(table, mostTables, signal),
  )
  const names = tables.data?.items.map(({ collection }) => collection) ?? []
  const { data: info } = useApi(['tables', 'info', table], (signal) => describeTable(table, signal), {
    enabled: names.includes(table),
    keepsPrevious: false,
  })
  const vectors = info?.columns.filter(({ isVector }) => isVector === true) ?? []
  const chosen = (column: string) =>
    vectors.some(({ name }) => name === column) ? column : (vectors[0]?.name ?? '')
  return (
    <ActionForm
      title="Build a vector index"
      action="Build index"
      start={{ column: '', method: valueIn(methods, 'hnsw'), metric: valueIn(metrics, 'cosine') }}
      lead={suggested('Table', names)(table, setTable)}
      fields={() => ({
        column: (column, onChange) =>
          choice(
            'Column',
            vectors.map(({ name, type }) => ({ value: name, label: `${name} (${type})` })),
          )(
            chosen(column),
            onChange,
            info !== undefined && vectors.length === 0 ? 'The table has no vector columns.' : undefined,
          ),
        method: choice('Method', methods),
        metric: choice('Metric', metrics),
      })}
      isReady={() => vectors.length > 0}
      send={({ column, ...rest }) =>
        createVectorIndex({ schema: info?.schema, table: info?.name ?? '', column: chosen(column), ...rest })
      }
      invalidates={[['search', 'vectors']]}
      done="Vector index built."
      onClose={onClose}
    >
      {() => (
        <p>
          Readers and writers are not blocked. The build continues when this page is closed. One is built at a
          time.
        </p>
      )}
    </ActionForm>
  )
}
