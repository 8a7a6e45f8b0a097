import { useLocation, useRoute } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { formatNumber } from '../../ui/format.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
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
        asCode={{
          request: { method: 'GET', path: '/api/admin/embeddings' },
          sql: 'select name, written, last_written_at, last_error from basalt.embeddings order by name',
        }}
      >
        Configured vector columns, which Basalt updates when the text of a row changes.
      </PageHeader>
      <List
        caption="Embeddings"
        of={list}
        rowKey={(embedding) => embedding.name}
        href={(embedding) => `/embeddings/${encodeURIComponent(embedding.name)}`}
        selectedKey={name}
        empty="No embeddings are configured. Add one with a provider that is compatible with the OpenAI API."
        example={[example, 'Configuration']}
        columns={[
          ['Name', (embedding) => embedding.name],
          ['State', (embedding) => <EmbeddingState embedding={embedding} />],
          [
            'Column',
            ({ table, vectorColumn }) => (
              <code>
                {table}.{vectorColumn}
              </code>
            ),
            'minor',
          ],
          ['Model', ({ model }) => model ?? '–', 'minor'],
          ['Waiting', ({ pending }) => formatNumber(pending), 'end'],
          ['Failed', ({ failed }) => formatNumber(failed), 'end'],
        ]}
      />
      {name !== undefined && (
        <EmbeddingPanel key={name} name={name} onClose={() => navigate('/embeddings')} />
      )}
    </>
  )
}
