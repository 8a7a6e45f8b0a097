/** Work that a stop aborts and waits for. */
export class WorkInFlight {
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  /** Signal that is aborted when the server stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Tracks work until it has ended. */
  add<Result>(running: Promise<Result>): Promise<Result> {
    const end = () => this.#running.delete(running)
    this.#running.add(running)
    running.then(end, end)
    return running
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server is stopping'))
    await Promise.allSettled(this.#running)
  }
}
