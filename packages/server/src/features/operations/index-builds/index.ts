import type { Logger } from 'pino'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { buildPendingIndexes, type IndexBuildDeps } from './build.ts'

/** Pause after which a build that failed, gave way or runs on another node is attempted again. */
const retryMs = 60_000

export interface IndexBuildsDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'engine'>
  readonly log: Logger
  /** For tests. */
  readonly build?: (deps: IndexBuildDeps) => Promise<boolean>
}

/** Builds the indexes of large system tables that migrations have left, behind the work of the server. */
export function indexBuilds({ database, log, build = buildPendingIndexes }: IndexBuildsDeps): Feature {
  const work = new WorkInFlight()
  const { signal } = work
  let timer: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    let isDone = false
    try {
      isDone = await build({ ...database, log, signal })
    } catch (error) {
      if (!signal.aborted)
        log.warn({ reason: messageOf(error) }, `failed to build an index; retrying in ${retryMs / 1000} s`)
    }
    if (!isDone && !signal.aborted) timer = setTimeout(start, retryMs).unref()
  }

  function start(): void {
    void work.add(run())
  }

  return {
    name: 'index-builds',
    start,
    async stop() {
      clearTimeout(timer)
      await work.stop()
    },
  }
}
