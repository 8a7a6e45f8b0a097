/** Name of the header with the position of the log: in a response, after its write; in a request, for its reads. */
const header = 'x-basalt-position'

/**
 * Position of the last write to one server by one caller. Reads send it, so that a read replica only serves them once it has
 * the write. It is forgotten when the caller changes.
 */
export interface WritePosition {
  /** Returns the headers of a request of this caller. */
  headers(caller: string | undefined): Readonly<Record<string, string>>
  /** Stores the position of a response to a write. Without one, reads go to the primary again. */
  store(caller: string | undefined, response?: Response): void
}

/** @internal Creates the position of a transport, unknown at first. */
export function createWritePosition(): WritePosition {
  let owner: string | undefined
  let position: string | undefined
  return {
    headers(caller): Readonly<Record<string, string>> {
      return position === undefined || caller !== owner ? {} : { [header]: position }
    },
    store(caller, response) {
      const next = response?.headers.get(header) ?? undefined
      // Responses to concurrent writes arrive in any order.
      if (caller === owner && position !== undefined && next !== undefined && isBefore(next, position)) return
      owner = caller
      position = next
    },
  }
}

/** Returns true if a position, such as `16/B374D848`, is before another one. */
function isBefore(one: string, other: string): boolean {
  const parts = (text: string) => text.split('/').map((part) => Number.parseInt(part, 16))
  const [high = 0, low = 0] = parts(one)
  const [otherHigh = 0, otherLow = 0] = parts(other)
  return high < otherHigh || (high === otherHigh && low < otherLow)
}
