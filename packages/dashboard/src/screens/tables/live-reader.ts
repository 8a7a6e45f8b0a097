import type { RowPage } from './api.ts'
import { changedKeys, hasSameRows, type PageRequest, pagesBetween, readAgain } from './live-rows.ts'

/** Minimum time between two reads, in milliseconds. Changes that arrive in between are read together. */
const leastMs = 300
/** Pause after a read, as a multiple of its duration. Slow statements must not keep the server busy all the time. */
const shareOfTime = 5
const retryMs = 5000

export interface LoadedPages {
  readonly pages: readonly RowPage[]
  readonly pageParams: readonly PageRequest[]
}

export interface LiveReaderOptions {
  readonly read: (pageRequest: PageRequest) => Promise<RowPage>
  readonly loaded: () => LoadedPages | undefined
  /** Rows in view, among the loaded ones. */
  readonly view: () => { readonly first: number; readonly last: number }
  /** True if the rows must not change: a cell is being edited, or changes are being written. */
  readonly isHeld: () => boolean
  /**
   * Replaces a page.
   *
   * @returns the page that is stored; the previous one if both are equal, or undefined if other rows were loaded in the
   * meantime
   */
  readonly replace: (index: number, before: RowPage, now: RowPage) => RowPage | undefined
  /** Reloads all pages. */
  readonly reload: () => Promise<void>
  readonly onChanged: (keys: readonly string[], isSameRows: boolean) => void
}

/** Reads the pages in view again after a change, and other pages when they come into view. */
export class LiveReader {
  readonly #options: LiveReaderOptions
  /** Number of noticed changes. */
  #changes = 0
  /** Number of changes that each page already contains. */
  readonly #shown = new WeakMap<RowPage, number>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isReading = false
  #isClosed = false
  #nextAt = 0

  constructor(options: LiveReaderOptions) {
    this.#options = options
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Marks the rows as changed. */
  invalidate(): void {
    this.#changes += 1
    this.readChanged()
  }

  /** Reads changed pages after the view has moved, or after the rows may change again. */
  readChanged(): void {
    if (this.#isClosed || this.#isReading || this.#timer !== undefined) return
    if (this.#options.isHeld() || this.#stale().length === 0) return
    const waitMs = Math.max(0, this.#nextAt - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!this.#options.isHeld()) void this.#readStale()
    }, waitMs)
  }

  #stale(): readonly { readonly index: number; readonly page: RowPage; readonly pageRequest: PageRequest }[] {
    const { pages = [], pageParams = [] } = this.#options.loaded() ?? {}
    const { first, last } = this.#options.view()
    return pagesBetween(pages, first, last).flatMap((index) => {
      const [page, pageRequest] = [pages[index], pageParams[index]]
      const isStale = page !== undefined && (this.#shown.get(page) ?? 0) < this.#changes
      return isStale && pageRequest !== undefined ? [{ index, page, pageRequest }] : []
    })
  }

  async #readStale(): Promise<void> {
    const begunAt = performance.now()
    this.#isReading = true
    let waitMs = leastMs
    try {
      for (const { index, page, pageRequest } of this.#stale()) await this.#renew(index, page, pageRequest)
    } catch {
      // The page itself shows that the server is unavailable.
      waitMs = retryMs
    }
    this.#isReading = false
    const now = performance.now()
    this.#nextAt = now + Math.max(waitMs, (now - begunAt) * shareOfTime)
    this.readChanged()
  }

  async #renew(index: number, before: RowPage, pageRequest: PageRequest): Promise<void> {
    const { read, loaded, isHeld, replace, reload, onChanged } = this.#options
    const changes = this.#changes
    const now = await readAgain(loaded()?.pages ?? [], index, pageRequest, read)
    if (this.#isClosed || isHeld()) return
    if (now === undefined) {
      await reload()
      for (const page of loaded()?.pages ?? []) this.#shown.set(page, changes)
      return onChanged([], false)
    }
    const changed = changedKeys(before, now)
    const isSameRows = hasSameRows(before, now)
    const isUnchanged = changed.length === 0 && isSameRows && before.paging === 'keyset'
    const shown = isUnchanged ? before : replace(index, before, now)
    if (shown !== undefined) this.#shown.set(shown, changes)
    if (shown !== undefined && shown !== before) onChanged(changed, isSameRows)
  }
}
