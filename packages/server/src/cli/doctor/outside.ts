import type { Clock } from '../../lib/clock.ts'

/** Ports of the checks to the outside world; tests replace them. */
export interface Outside {
  readonly clock: Clock
  /** Returns the space of the file system that holds the path. */
  readonly measureDisk: (path: string) => Promise<DiskSpace>
  /** Returns the URL that replaces the one to request. */
  readonly reach: (url: URL) => URL
  /** Certificate (PEM) to trust beside the public authorities. */
  readonly trust?: string
}

export interface DiskSpace {
  readonly totalBytes: number
  readonly freeBytes: number
}
