import type { RowFault } from './result.ts'

/** Rows whose faults are answered, some megabytes at most; what is beyond is only counted. */
const listedLimit = 10_000
/** Of those, rows that the column at fault is looked for: it is two round trips each. */
const examinedLimit = 1000
const messageLimit = 500

/** The rows that are refused. */
export class RowFaults {
  readonly #listed: RowFault[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Whether the fault of another row is worth a closer look. */
  get isExamining(): boolean {
    return this.#listed.length < examinedLimit
  }

  /** The first ones, in the order of the rows. */
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

  /** Another one that begins with these, for an attempt that can be repeated. */
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
