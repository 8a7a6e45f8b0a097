import { useLocation, useSearchParams } from 'wouter'
import { PageHeader } from '../../../ui/layout.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { newTableAddress } from '../addresses.ts'
import { DiagramView } from '../diagram/diagram-view.tsx'
import { ReviewForm } from '../forms/form.tsx'
import { writeSql } from '../forms/sql.tsx'
import { FunctionsView } from './functions-view.tsx'
import { MigrationsView } from './migrations-view.tsx'
import { RelationsView } from './relations-view.tsx'
import { TypesView } from './types-view.tsx'

/** Lists the objects of the structure by kind. With `?sql=` and `?title=` it opens a change of another screen for review. */
export function StructureOverview() {
  const [search, setSearch] = useSearchParams()
  const [, navigate] = useLocation()
  const sql = search.get('sql')
  return (
    <>
      <PageHeader
        title="Structure"
        asCode={{
          request: { method: 'GET', path: '/api/admin/structure/relations' },
          client:
            "await client.transport.request('GET', 'admin/structure/relations', { isRepeatable: true })",
          command: 'basalt db dump',
        }}
        action={['Create a table', () => navigate(newTableAddress)]}
      >
        You review every change as SQL, and it becomes a migration.
      </PageHeader>
      <Tabs
        label="Structure"
        value={search.get('view') ?? 'tables'}
        onChange={(view) => setSearch(view === 'tables' ? {} : { view })}
        tabs={[
          { value: 'tables', label: 'Tables and views', content: <RelationsView /> },
          { value: 'diagram', label: 'Diagram', content: <DiagramView /> },
          { value: 'types', label: 'Types', content: <TypesView /> },
          { value: 'functions', label: 'Functions', content: <FunctionsView /> },
          { value: 'migrations', label: 'Migrations', content: <MigrationsView /> },
        ]}
      />
      {sql !== null && (
        <ReviewForm
          form={writeSql(search.get('title') ?? 'Change by SQL', sql)}
          onClose={() => setSearch({}, { replace: true })}
        />
      )}
    </>
  )
}
