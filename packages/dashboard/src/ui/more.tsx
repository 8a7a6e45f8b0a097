import type { Pages } from '../api/queries.ts'
import { Button } from './button.tsx'
import { Notice } from './layout.tsx'
import styles from './states.module.css'
import { Time } from './time.tsx'

export type MorePages = Pick<Pages<unknown>, 'hasMore' | 'isLoadingMore' | 'loadMore'> &
  Partial<Pick<Pages<unknown>, 'searchedTo'>>

/** Renders the button for the next page of a list. A bounded search also says how far it has read. */
export function More({ list }: { readonly list: MorePages }) {
  const { hasMore, searchedTo, isLoadingMore, loadMore } = list
  if (!hasMore) return null
  const button = (label: string) => (
    <Button size="small" onClick={loadMore} isPending={isLoadingMore}>
      {label}
    </Button>
  )
  return searchedTo === undefined ? (
    <div className={styles.more}>{button('Load more')}</div>
  ) : (
    <Notice>
      Searched back to <Time value={searchedTo} />. {button('Continue searching')}
    </Notice>
  )
}
