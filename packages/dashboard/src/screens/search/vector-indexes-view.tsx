import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { structureLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { deleteVectorIndex, listVectorIndexes, type VectorIndex } from './api.ts'
import { VectorIndexForm } from './vector-index-form.tsx'

const refetchIntervalMs = 5_000

/** Lists the pgvector indexes, which speed up semantic searches. */
export function VectorIndexesView() {
  const [isNew, setNew] = useState(false)
  const [dropping, setDropping] = useState<VectorIndex>()
  const indexes = useApi(['search', 'vectors'], listVectorIndexes, { refetchIntervalMs })
  return (
    <>
      <Toolbar label="Vector indexes">
        <Button variant="primary" needs="change" onClick={() => setNew(true)}>
          Build a vector index
        </Button>
        <Link href="/embeddings">Embeddings</Link>
      </Toolbar>
      <List
        caption="Vector indexes"
        of={indexes}
        rowKey={({ schema, name }) => JSON.stringify([schema, name])}
        empty="No vector indexes. Searches for nearest neighbours read all rows until a table has one."
        first={['Build the first index', () => setNew(true)]}
        columns={[
          ['Index', ({ name }) => name],
          [
            'Column',
            ({ schema, table, column }) => {
              const collection = schema === 'public' ? table : `${schema}.${table}`
              return (
                <Link href={structureLink({ schema, name: table })}>
                  {collection}
                  {column === null ? '' : `.${column}`}
                </Link>
              )
            },
          ],
          [
            'Method',
            ({ method, metric }) => (metric === null ? method : `${method}, ${metric.replace('_', ' ')}`),
            'minor',
          ],
          [
            'State',
            ({ valid }) =>
              valid ? <Badge tone="ok">valid</Badge> : <Badge tone="warning">not built yet</Badge>,
          ],
          ['Size', ({ sizeBytes }) => formatBytes(sizeBytes), 'end'],
          [
            'Actions',
            (index) => <RowActions of={index.name} actions={[['Drop', () => setDropping(index)]]} />,
            'actions',
          ],
        ]}
      />
      {isNew && <VectorIndexForm onClose={() => setNew(false)} />}
      {dropping !== undefined && (
        <ConfirmAction
          title={`Drop ${dropping.name}`}
          action="Drop index"
          send={() => deleteVectorIndex(dropping)}
          invalidates={[['search', 'vectors']]}
          done="Vector index dropped."
          onClose={() => setDropping(undefined)}
        >
          Searches for nearest neighbours will then read all rows.
        </ConfirmAction>
      )}
    </>
  )
}
