import { useAction, useApi } from '../../../api/queries.ts'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { download } from '../../../ui/download.ts'
import { countOf } from '../../../ui/format.ts'
import { Notice } from '../../../ui/layout.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { Time } from '../../../ui/time.tsx'
import { newTableAddress } from '../addresses.ts'
import { readMigration, readMigrations } from '../api.ts'

/** Lists the migrations, newest first. */
export function MigrationsView() {
  const migrations = useApi(['structure', 'migrations'], readMigrations)
  const save = useAction(readMigration, {
    onDone: ({ name, content }) => download(name, 'application/sql', content),
  })
  return (
    <Loaded query={migrations}>
      {({ folder, applied, pending, obstacles, drift }) => (
        <>
          <Notice>
            {folder === null ? (
              <>
                This server has no folder of migrations, so the database stores them. In a project,{' '}
                <code>basalt migrate pull</code> writes them as files.
              </>
            ) : (
              <>
                Changes become files of <code>{folder}/</code>.
              </>
            )}
          </Notice>
          {obstacles.map((obstacle) => (
            <Notice key={obstacle} tone="danger">
              {obstacle}
            </Notice>
          ))}
          {pending.length > 0 && (
            <Notice tone="warning">
              Pending: {pending.join(', ')}. <code>basalt migrate up</code> applies them.
            </Notice>
          )}
          {drift > 0 && (
            <Notice tone="warning">
              {countOf(drift, 'object')} changed without migrations. <code>basalt migrate status</code> lists
              them.
            </Notice>
          )}
          <DataTable
            caption="Applied migrations"
            rows={applied.toReversed()}
            rowKey={({ name }) => name}
            empty="No migrations yet. Each change of the structure becomes one, here or in a file."
            first={['Create a table', newTableAddress]}
            example={['basalt migrate new add_city']}
            columns={[
              ['Name', ({ name }) => <code>{name}</code>],
              ['Applied', ({ appliedAt }) => <Time value={appliedAt} />],
              [
                'Actions',
                ({ name }) => (
                  <RowActions of={name} actions={[['Download', () => save.run(name), 'structure.read']]} />
                ),
                'actions',
              ],
            ]}
          />
        </>
      )}
    </Loaded>
  )
}
