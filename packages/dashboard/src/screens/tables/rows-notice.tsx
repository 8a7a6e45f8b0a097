import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Notice } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import type { Rows } from './use-rows.ts'

interface Props {
  readonly rows: Rows
  readonly onSortByKey: () => void
}

/** Renders notices above the rows: an error, the cost of reading them, or the existence of earlier rows. */
export function RowsNotice({ rows, onSortByKey }: Props) {
  return (
    <>
      {rows.cost !== undefined && (
        <Notice tone="warning">
          Finding or sorting these rows requires reading a large part of the table. The estimated planner cost
          is {formatNumber(rows.cost)}.{' '}
          <Button size="small" onClick={rows.runAnyway}>
            Run anyway
          </Button>{' '}
          <Button size="small" onClick={onSortByKey}>
            Sort by key
          </Button>
        </Notice>
      )}
      {rows.error !== null && rows.cost === undefined && (
        <Failure error={rows.error} onRetry={rows.refetch} />
      )}
      {rows.hasPrevious && (
        <Button size="small" onClick={rows.loadPrevious}>
          Load previous rows
        </Button>
      )}
    </>
  )
}
