import type { RowPage, RowsRequest } from './api.ts'
import { idOf } from './names.ts'

/** Pages of rows that are read again while others stay as they are. Pure. */

export type PageRequest = Pick<RowsRequest, 'after' | 'before' | 'from'>

/** Reads of one page, when so many rows have come that it has grown. */
const mostReads = 4

/** Indexes of the pages that have rows from the first to the last, and of empty ones, where the first row may come. */
export function pagesBetween(pages: readonly RowPage[], first: number, last: number): number[] {
  let passed = 0
  return pages.flatMap(({ rows }, index) => {
    const begin = passed
    passed += rows.length
    return rows.length === 0 || (begin <= last && passed > first) ? [index] : []
  })
}

/**
 * The page as it is now, up to the page that stays beside it, so that no row between them is lost or shown twice.
 *
 * @returns undefined when the row at which that page begins is no longer found
 */
export async function readAgain(
  pages: readonly RowPage[],
  index: number,
  pageRequest: PageRequest,
  read: (pageRequest: PageRequest) => Promise<RowPage>,
): Promise<RowPage | undefined> {
  const isUpwards = pageRequest.before !== undefined
  const beside = isUpwards ? pages[index - 1] : pages[index + 1]
  const first = await read(pageRequest)
  if (beside === undefined) return first
  const bound = isUpwards ? beside.rows.at(-1)?.key : beside.rows[0]?.key
  // Rows without a key are found by their number alone.
  if (bound === undefined || bound === null) return first
  const rows: RowPage['rows'][number][] = []
  for (let page = first, reads = 1; ; reads += 1) {
    const at = page.rows.findIndex(({ key }) => key !== null && idOf(key) === idOf(bound))
    const taken = at < 0 ? page.rows : isUpwards ? page.rows.slice(at + 1) : page.rows.slice(0, at)
    if (isUpwards) rows.unshift(...taken)
    else rows.push(...taken)
    // What is between the pages, and so where the next one begins, is as it was.
    if (at >= 0)
      return { ...first, before: pages[index]?.before ?? null, after: pages[index]?.after ?? null, rows }
    const next = isUpwards ? page.before : page.after
    if (next === null || reads === mostReads) return undefined
    page = await read(isUpwards ? { before: next } : { after: next })
  }
}

/** Keys of rows that are new or in another version. */
export function changedKeys(before: RowPage, now: RowPage): string[] {
  const versions = new Map(before.rows.map(({ key, version }) => [key === null ? '' : idOf(key), version]))
  return now.rows.flatMap(({ key, version }) =>
    key !== null && versions.get(idOf(key)) !== version ? [idOf(key)] : [],
  )
}

/** Whether they have the same rows, in whatever versions. */
export function hasSameRows(before: RowPage, now: RowPage): boolean {
  const ids = ({ rows }: RowPage) => JSON.stringify(rows.map(({ key }) => key))
  return ids(before) === ids(now)
}
