import type { Pages } from '../api/queries.ts'
import { Button } from './button.tsx'
import { Notice } from './layout.tsx'
import { Time } from './time.tsx'

/** Shows that a bounded search has ended the page, with a button to continue. */
export function SearchedTo({
  list,
}: {
  readonly list: Pick<Pages<unknown>, 'hasMore' | 'searchedTo' | 'isLoadingMore' | 'loadMore'>
}) {
  if (!list.hasMore || list.searchedTo === undefined) return null
  return (
    <Notice>
      Searched back to <Time value={list.searchedTo} />.{' '}
      <Button size="small" onClick={list.loadMore} isPending={list.isLoadingMore}>
        Continue searching
      </Button>
    </Notice>
  )
}
