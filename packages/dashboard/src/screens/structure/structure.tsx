import { Route, Switch } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { decodeSegment } from '../../path-segment.ts'
import { CreateTable } from './forms/create-table.tsx'
import { StructureOverview } from './list/overview.tsx'
import { ReviewProvider } from './review/review-provider.tsx'
import { TablePage } from './table/table-page.tsx'

export function StructureScreen() {
  const may = usePermissions()
  return (
    <ReviewProvider>
      <Switch>
        {may('change') && (
          <Route path="/structure/new">
            <CreateTable />
          </Route>
        )}
        <Route path="/structure/tables/:schema/:name">
          {({ schema, name }) => (
            <TablePage key={`${schema} ${name}`} schema={decodeSegment(schema)} name={decodeSegment(name)} />
          )}
        </Route>
        <Route>
          <StructureOverview />
        </Route>
      </Switch>
    </ReviewProvider>
  )
}
