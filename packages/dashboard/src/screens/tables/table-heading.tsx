import { useState } from 'react'
import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { structureLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Switch } from '../../ui/field.tsx'
import { Badge } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { quoteName } from '../../ui/sql.ts'
import type { TableInfo } from './api.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { ColumnsDialog } from './columns-dialog.tsx'
import { ExportDialog } from './export-dialog.tsx'
import { orderColumns } from './grid-model.ts'
import { ImportDialog } from './import-dialog.tsx'
import { LiveBadge } from './live-badge.tsx'
import { parseSort } from './names.ts'
import styles from './tables.module.css'
import type { LiveState } from './use-live.ts'
import type { View, ViewChange } from './use-view.ts'
import { ViewAsDialog } from './view-as-dialog.tsx'

type DialogName = 'columns' | 'update' | 'delete' | 'import' | 'export' | 'as'

interface TableHeadingProps {
  readonly info: TableInfo
  readonly view: View
  readonly columns: readonly string[]
  readonly isWritable: boolean
  /** State of following changes; undefined while it is off. */
  readonly live: LiveState | undefined
  readonly onLive: (isLive: boolean) => void
  readonly onView: (change: ViewChange) => void
  readonly onNew: () => void
  /** Called after rows were written without the grid. */
  readonly onWritten: () => void
}

export function TableHeading(props: TableHeadingProps) {
  const { info, view, columns, isWritable, onView } = props
  const [dialog, setDialog] = useState<DialogName>()
  const may = usePermissions()
  const close = () => setDialog(undefined)
  const common = { info, onDone: props.onWritten, onClose: close }
  return (
    <>
      <header className={styles.heading}>
        <h1 tabIndex={-1} data-page-title>
          {info.table}
        </h1>
        {!info.rlsEnabled && info.kind.includes('table') && (
          <Badge tone="warning">no row-level security</Badge>
        )}
        {view.as !== undefined && (
          <Badge tone="accent">
            read as {view.as.as}{' '}
            <Button variant="plain" size="small" onClick={() => onView({ as: undefined })}>
              End
            </Button>
          </Badge>
        )}
        {may('bodies.read') && (
          <Switch label="Live" checked={props.live !== undefined} onChange={props.onLive} />
        )}
        {props.live !== undefined && <LiveBadge state={props.live} isCaptured={info.isCaptured} />}
        {isWritable && (
          <Button variant="primary" onClick={props.onNew}>
            New row
          </Button>
        )}
        <Button onClick={() => setDialog('columns')}>
          Columns{view.hidden.length === 0 ? '' : ` (${view.hidden.length} hidden)`}
        </Button>
        <Menu
          label="Rows"
          items={[
            {
              label: 'Change all that match…',
              needs: 'change',
              onSelect: () => setDialog('update'),
              disabled: !isWritable,
            },
            {
              label: 'Delete all that match…',
              needs: 'change',
              onSelect: () => setDialog('delete'),
              disabled: !isWritable,
              isDangerous: true,
            },
            {
              label: 'Import…',
              needs: 'change',
              onSelect: () => setDialog('import'),
              disabled: !info.isWritable,
            },
            { label: 'Export…', needs: 'rows.read', onSelect: () => setDialog('export') },
            { label: 'View as a user…', needs: 'access.explain', onSelect: () => setDialog('as') },
          ]}
        />
        <Link href={structureLink(info)}>Structure</Link>
        <AsCode {...codeOf(info, view)} />
      </header>
      {dialog === 'columns' && (
        <ColumnsDialog columns={orderColumns(info, view)} view={view} onChange={onView} onClose={close} />
      )}
      {(dialog === 'update' || dialog === 'delete') && (
        <BulkDialog {...common} kind={dialog} filter={view.filter} />
      )}
      {dialog === 'import' && <ImportDialog {...common} />}
      {dialog === 'export' && (
        <ExportDialog table={info.table} view={view} columns={columns} onClose={close} />
      )}
      {dialog === 'as' && (
        <ViewAsDialog
          onPick={(as) => {
            close()
            onView({ as })
          }}
          onClose={close}
        />
      )}
    </>
  )
}

/** Returns the rows of the view as code for a program. */
function codeOf({ table, schema, name, primaryKey }: TableInfo, { filter, sort }: View) {
  const query = new URLSearchParams({
    ...(filter === '' ? {} : { filter }),
    ...(sort === '' ? {} : { sort }),
    perPage: '100',
    skipTotal: 'true',
  })
  const terms = parseSort(sort)
  const keys = primaryKey.map((key) => ({ key, isDescending: false }))
  const order = (terms.length > 0 ? terms : keys).map(
    ({ key, isDescending }) => `${quoteName(key)}${isDescending ? ' desc' : ''}`,
  )
  const options = [
    ...(filter === '' ? [] : [`filter: ${JSON.stringify(filter)}`]),
    ...(sort === '' ? [] : [`sort: ${JSON.stringify(sort)}`]),
    'perPage: 100',
  ]
  return {
    request: { method: 'GET', path: `/api/collections/${encodeURIComponent(table)}?${query}` },
    // SQL does not understand the filter language of the API, nor paths of relations.
    sql:
      filter === '' && terms.every(({ path }) => path === undefined)
        ? [
            `select * from ${quoteName(schema)}.${quoteName(name)}`,
            ...(order.length === 0 ? [] : [`order by ${order.join(', ')}`]),
            'limit 100;',
          ].join('\n')
        : undefined,
    client: `await client.from(${JSON.stringify(table)}).list({ ${options.join(', ')} })`,
  }
}
