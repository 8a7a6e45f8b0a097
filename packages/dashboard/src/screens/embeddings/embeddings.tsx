import { useLocation, useRoute } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Code } from '../../ui/code.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatNumber } from '../../ui/format.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { listEmbeddings } from './api.ts'
import { EmbeddingPanel } from './embedding-panel.tsx'
import { EmbeddingState } from './state.tsx'

/** Interval at which the counts follow the jobs, in milliseconds. */
const refetchIntervalMs = 5_000

const example = `[embeddings.article]
table = "article"
columns = ["title", "body"]
vector_column = "embedding"

[ai.providers.openai]
api_key = "…"
default_model = "text-embedding-3-small"`

export function EmbeddingsScreen() {
  const [, params] = useRoute('/embeddings/:name')
  const [, navigate] = useLocation()
  const list = useApi(['embeddings', 'list'], listEmbeddings, { refetchIntervalMs })
  const name = params === null ? undefined : decodeSegment(params.name)
  return (
    <>
      <PageHeader
        title="Embeddings"
        actions={
          <AsCode
            request={{ method: 'GET', path: '/api/admin/embeddings' }}
            sql="select name, written, last_written_at, last_error from basalt.embeddings order by name"
          />
        }
      >
        Configured vector columns, which Basalt updates when the text of a row changes.
      </PageHeader>
      <Loaded query={list}>
        {({ items }) => (
          <DataTable
            caption="Embeddings"
            rows={items}
            rowKey={(embedding) => embedding.name}
            href={(embedding) => `/embeddings/${encodeURIComponent(embedding.name)}`}
            selectedKey={name}
            empty={<NoneConfigured />}
            columns={[
              { key: 'name', title: 'Name', cell: (embedding) => embedding.name },
              { key: 'state', title: 'State', cell: (embedding) => <EmbeddingState embedding={embedding} /> },
              {
                key: 'column',
                title: 'Column',
                isMinor: true,
                cell: ({ table, vectorColumn }) => (
                  <code>
                    {table}.{vectorColumn}
                  </code>
                ),
              },
              { key: 'model', title: 'Model', isMinor: true, cell: ({ model }) => model ?? '–' },
              {
                key: 'pending',
                title: 'Waiting',
                align: 'end',
                cell: ({ pending }) => formatNumber(pending),
              },
              { key: 'failed', title: 'Failed', align: 'end', cell: ({ failed }) => formatNumber(failed) },
            ]}
          />
        )}
      </Loaded>
      {name !== undefined && (
        <EmbeddingPanel key={name} name={name} onClose={() => navigate('/embeddings')} />
      )}
    </>
  )
}

function NoneConfigured() {
  return (
    <>
      <p>No embeddings are configured. Add one with a provider that is compatible with the OpenAI API:</p>
      <Code label="Configuration">{example}</Code>
    </>
  )
}
