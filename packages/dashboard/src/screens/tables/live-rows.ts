import type { RowPage, RowsRequest } from './api.ts'
import { idOf } from './names.ts'

/** Functions that reread pages of rows while other pages stay unchanged. Pure. */

export type PageRequest = Pick<RowsRequest, 'after' | 'before' | 'from'>

/** Maximum number of reads for one page, if it has grown by many rows. */
const mostReads = 4

/** Returns the indexes of the pages with rows in the range, and of empty pages, which may get a first row. */
export function pagesBetween(pages: readonly RowPage[], first: number, last: number): number[] {
  let passed = 0
  return pages.flatMap(({ rows }, index) => {
    const begin = passed
    passed += rows.length
    return rows.length === 0 || (begin <= last && passed > first) ? [index] : []
  })
}

/**
 * Reads a page again, up to its neighbouring page, so that no row between them is lost or shown twice.
 *
 * @returns undefined if the first row of the neighbouring page no longer exists
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
  // Rows without a key are only found by their number.
  if (bound === undefined || bound === null) return first
  const rows: RowPage['rows'][number][] = []
  for (let page = first, reads = 1; ; reads += 1) {
    const at = page.rows.findIndex(({ key }) => key !== null && idOf(key) === idOf(bound))
    const added = at < 0 ? page.rows : isUpwards ? page.rows.slice(at + 1) : page.rows.slice(0, at)
    if (isUpwards) rows.unshift(...added)
    else rows.push(...added)
    // The gap between the pages is unchanged, and so is the start of the next page.
    if (at >= 0)
      return { ...first, before: pages[index]?.before ?? null, after: pages[index]?.after ?? null, rows }
    const next = isUpwards ? page.before : page.after
    if (next === null || reads === mostReads) return undefined
    page = await read(isUpwards ? { before: next } : { after: next })
  }
}

/** Returns the keys of rows that are new or have another version. */
export function changedKeys(before: RowPage, now: RowPage): string[] {
  const tags = new Map(before.rows.map(({ key, etag }) => [key === null ? '' : idOf(key), etag]))
  return now.rows.flatMap(({ key, etag }) =>
    key !== null && tags.get(idOf(key)) !== etag ? [idOf(key)] : [],
  )
}

/** Returns true if both pages have the same rows, in any versions. */
export function hasSameRows(before: RowPage, now: RowPage): boolean {
  const ids = ({ rows }: RowPage) => JSON.stringify(rows.map(({ key }) => key))
  return ids(before) === ids(now)
}
