import type { RowFault } from './result.ts'

/** Maximum number of rows whose faults are listed, some megabytes at most. Further ones are only counted. */
const listedLimit = 10_000
/** Maximum number of listed rows whose faulty column is determined, since that takes two round trips each. */
const examinedLimit = 1000
const messageLimit = 500

/** Rows that were rejected. */
export class RowFaults {
  readonly #listed: RowFault[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** True if the fault of another row is examined. */
  get isExamining(): boolean {
    return this.#listed.length < examinedLimit
  }

  /** First rejected rows, in row order. */
  get listed(): readonly RowFault[] {
    return this.#listed.toSorted((a, b) => a.row - b.row)
  }

  add(row: number, message: string): void {
    this.#count += 1
    if (this.#listed.length >= listedLimit) return
    const isLong = message.length > messageLimit
    this.#listed.push({
      row,
      message: isLong ? `${message.slice(0, messageLimit).toWellFormed()}…` : message,
    })
  }

  /** Returns a copy with these faults, to which a repeated attempt can return. */
  copy(): RowFaults {
    const copy = new RowFaults()
    copy.restore(this)
    return copy
  }

  restore({ listed, count }: RowFaults): void {
    this.#listed.splice(0, this.#listed.length, ...listed)
    this.#count = count
  }
}
