import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { structureLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Badge, Toolbar } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { deleteVectorIndex, listVectorIndexes, type VectorIndex } from './api.ts'
import { VectorIndexForm } from './vector-index-form.tsx'

const refetchIntervalMs = 5_000

/** Lists the pgvector indexes, which speed up semantic searches. */
export function VectorIndexesView() {
  const [isNew, setNew] = useState(false)
  const [dropping, setDropping] = useState<VectorIndex>()
  const indexes = useApi(['search', 'vectors'], listVectorIndexes, { refetchIntervalMs })
  const close = () => setDropping(undefined)
  const drop = useAction(deleteVectorIndex, {
    invalidates: [['search', 'vectors']],
    failure: 'view',
    done: 'Vector index dropped.',
    onDone: close,
  })
  return (
    <>
      <Toolbar label="Vector indexes">
        <Button variant="primary" onClick={() => setNew(true)}>
          Build a vector index
        </Button>
        <Link href="/embeddings">Embeddings</Link>
      </Toolbar>
      <Loaded query={indexes}>
        {(rows) => (
          <DataTable<VectorIndex>
            caption="Vector indexes"
            rows={rows}
            rowKey={({ schema, name }) => JSON.stringify([schema, name])}
            empty="No vector indexes. Nearest neighbours are found by reading all rows."
            columns={[
              { key: 'name', title: 'Index', cell: ({ name }) => name },
              {
                key: 'column',
                title: 'Column',
                cell: ({ schema, table, column }) => {
                  const collection = schema === 'public' ? table : `${schema}.${table}`
                  return (
                    <Link href={structureLink({ schema, name: table })}>
                      {collection}
                      {column === null ? '' : `.${column}`}
                    </Link>
                  )
                },
              },
              {
                key: 'method',
                title: 'Method',
                isMinor: true,
                cell: ({ method, metric }) =>
                  metric === null ? method : `${method}, ${metric.replace('_', ' ')}`,
              },
              {
                key: 'state',
                title: 'State',
                cell: ({ valid }) =>
                  valid ? <Badge tone="ok">valid</Badge> : <Badge tone="warning">not built yet</Badge>,
              },
              { key: 'size', title: 'Size', align: 'end', cell: ({ sizeBytes }) => formatBytes(sizeBytes) },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (index) => (
                  <Button
                    size="small"
                    aria-label={`Drop ${index.name}`}
                    onClick={() => {
                      drop.reset()
                      setDropping(index)
                    }}
                  >
                    Drop
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {isNew && <VectorIndexForm onClose={() => setNew(false)} />}
      {dropping !== undefined && (
        <ConfirmDialog
          title={`Drop ${dropping.name}`}
          action="Drop index"
          isPending={drop.isPending}
          error={drop.error}
          onConfirm={() => drop.run(dropping)}
          onClose={close}
        >
          Searches for nearest neighbours will then read all rows.
        </ConfirmDialog>
      )}
    </>
  )
}
