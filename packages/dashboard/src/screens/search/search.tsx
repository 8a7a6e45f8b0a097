import { useRoute, useSearchParams } from 'wouter'
import { decodeSegment } from '../../path-segment.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { CollectionList } from './collection-list.tsx'
import { CollectionView } from './collection-view.tsx'
import { VectorIndexesView } from './vector-indexes-view.tsx'

export function SearchScreen() {
  const [, params] = useRoute('/search/:table')
  return params === null ? (
    <Overview />
  ) : (
    <CollectionView key={params.table} table={decodeSegment(params.table)} />
  )
}

function Overview() {
  const [search, setSearch] = useSearchParams()
  const view = search.get('view') ?? 'tables'
  const isVectors = view === 'vectors'
  return (
    <>
      <PageHeader
        title="Search"
        asCode={{
          request: { method: 'GET', path: isVectors ? '/api/admin/vector/indexes' : '/api/admin/search' },
          command: isVectors ? undefined : 'basalt search status',
        }}
      >
        Search settings and search indexes of each table.
      </PageHeader>
      <Tabs
        label="Search"
        value={view}
        onChange={(next) => setSearch(next === 'tables' ? {} : { view: next })}
        tabs={[
          { value: 'tables', label: 'Tables', content: <CollectionList /> },
          { value: 'vectors', label: 'Vector indexes', content: <VectorIndexesView /> },
        ]}
      />
    </>
  )
}
