import type { Primary, ServerSession, Servers } from './primary.ts'

/** Time between two comparisons of all hosts. */
const everyMs = 5000
/** Delay before the next search while the servers in use are read-only, which doubles up to the longest. */
const firstRetryMs = 250
const longestRetryMs = 5000
/** Time after a search that found a primary before the next one begins. */
const quietMs = 1000

/**
 * Search for a new primary while connections still work. It compares all hosts of the URL every few seconds, so that a node
 * leaves a former primary. A write that was rejected as read-only starts a comparison at once.
 */
export class PrimaryWatch {
  readonly #primary: Primary
  readonly #servers: Servers<ServerSession>
  #timer: NodeJS.Timeout | undefined
  #comparing: Promise<void> | undefined
  #retryMs = firstRetryMs
  #retryAt = 0
  #isStopped = false

  constructor(primary: Primary, servers: Servers<ServerSession>) {
    this.#primary = primary
    this.#servers = servers
    primary.onReadOnly(() => this.#search())
    if (servers.hosts.length > 1) this.#schedule()
  }

  /** Ends after the comparison in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#comparing
  }

  #schedule(): void {
    if (this.#isStopped) return
    // Nodes that started together do not compare together.
    const delayMs = this.#primary.hasReadOnlySessions ? this.#retryMs : everyMs
    this.#timer = setTimeout(
      () => {
        if (this.#primary.hasReadOnlySessions) this.#search()
        else void this.#compare(true).finally(() => this.#schedule())
      },
      delayMs * (1 - Math.random() / 4),
    ).unref()
  }

  /** Compares all hosts at once, and again until no session is read-only. */
  #search(): void {
    if (this.#isStopped || this.#comparing !== undefined || performance.now() < this.#retryAt) return
    clearTimeout(this.#timer)
    void this.#compare(false).finally(() => {
      const isOver = !this.#primary.hasReadOnlySessions
      // Statements of a transaction that was made read-only are rejected, too.
      this.#retryAt = performance.now() + (isOver ? quietMs : this.#retryMs / 2)
      this.#retryMs = isOver ? firstRetryMs : Math.min(this.#retryMs * 2, longestRetryMs)
      if (!isOver || this.#servers.hosts.length > 1) this.#schedule()
    })
  }

  #compare(skipsPreferred: boolean): Promise<void> {
    this.#comparing ??= this.#primary
      .compare(this.#servers, skipsPreferred)
      // A failure of one comparison leaves the next one.
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#comparing = undefined
      })
    return this.#comparing
  }
}
