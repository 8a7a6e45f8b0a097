import type { Logger } from 'pino'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { buildPendingIndexes, type IndexBuildDeps } from './build.ts'

/** Pause after which a build is attempted again when it failed, gave way or runs on another node. */
const retryMs = 60_000

export interface IndexBuildsDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'engine'>
  readonly log: Logger
  /** Replaces the build, for tests. */
  readonly build?: (deps: IndexBuildDeps) => Promise<boolean>
}

/** Makes the feature that builds indexes of large system tables for migrations, in the background. */
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
