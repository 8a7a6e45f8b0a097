import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Notice } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import type { Rows } from './use-rows.ts'

interface Props {
  readonly rows: Rows
  readonly onSortByKey: () => void
}

/** What stands before the rows: why there are none, what reading them would cost, that there are others before. */
export function RowsNotice({ rows, onSortByKey }: Props) {
  return (
    <>
      {rows.cost !== undefined && (
        <Notice tone="warning">
          These rows can only be found or sorted by reading much of the table: the planner expects a cost of{' '}
          {formatNumber(rows.cost)}.{' '}
          <Button size="small" onClick={rows.runAnyway}>
            Run it anyway
          </Button>{' '}
          <Button size="small" onClick={onSortByKey}>
            Sort by the key
          </Button>
        </Notice>
      )}
      {rows.error !== null && rows.cost === undefined && (
        <Failure error={rows.error} onRetry={rows.refetch} />
      )}
      {rows.hasPrevious && (
        <Button size="small" onClick={rows.loadPrevious}>
          Load the rows before
        </Button>
      )}
    </>
  )
}
