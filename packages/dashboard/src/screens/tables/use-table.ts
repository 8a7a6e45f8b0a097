import { useMemo, useState } from 'react'
import { usePermissions } from '../../api/administrator.ts'
import type { TableInfo } from './api.ts'
import { createModel, gridColumns } from './grid-model.ts'
import { useLabels } from './labels.ts'
import { type OpenCell, useCellEditing } from './use-cell-editing.ts'
import { useEdits } from './use-edits.ts'
import { useLive } from './use-live.ts'
import { useNewColumns } from './use-new-columns.ts'
import { useRows } from './use-rows.ts'
import { useTicked } from './use-ticked.ts'
import { useView } from './use-view.ts'

/** Returns the state of a table view: rows, staged changes, ticked rows, the edited cell, and whether it follows changes. */
export function useTable(info: TableInfo) {
  const names = useMemo(() => info.columns.map(({ name }) => name), [info])
  const [view, changeView] = useView(names)
  const [isLive, setLive] = useState(false)
  const [opened, setOpened] = useState<OpenCell>()
  const request = useMemo(
    () => ({
      filter: view.filter === '' ? undefined : view.filter,
      sort: view.sort === '' ? undefined : view.sort,
      as: view.as,
    }),
    [view.filter, view.sort, view.as],
  )
  const rows = useRows(info.table, request, view.from)
  useNewColumns(info, rows.columns)
  const ticked = useTicked()
  const edits = useEdits(info, () => {
    ticked.clear()
    rows.refetch()
  })
  const { changes, setChanges } = edits
  const live = useLive({
    info,
    request,
    isOn: isLive,
    // An edited cell is identified by its position.
    isHeld: opened !== undefined || edits.isApplying || rows.isFetching,
    created: changes.created.length,
  })
  const { marked } = live
  // A view as a user shows what the user may see, and no names of others.
  const labels = useLabels(info, rows.rows, { isOn: view.as === undefined, changes })
  const model = useMemo(
    () => createModel(rows.columns ?? [], rows.rows ?? [], changes, marked, labels),
    [rows.columns, rows.rows, changes, marked, labels],
  )
  const columns = useMemo(() => gridColumns(info, view), [info, view])
  const mayWrite = usePermissions()('rows.write')
  const isWritable = mayWrite && info.isWritable && info.primaryKey.length > 0 && view.as === undefined
  const editing = useCellEditing({
    ...{ opened, setOpened, info, model, columns, isWritable, changes, setChanges },
  })
  return {
    ...{ info, view, changeView, request, rows, ticked, edits, live, isLive, setLive },
    ...{ model, columns, isWritable, editing },
  }
}

export type Table = ReturnType<typeof useTable>
