import { join } from 'node:path'
import type { Feature } from '../../../feature.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { defineCleanup } from './cleanup.ts'
import { LiveFunctions, type LiveFunctionsOptions } from './live-functions.ts'
import { addDeployRoutes } from './operations.ts'
import { type FindLoadProblem, TrialLoads } from './trial-loads.ts'

export { lockLive } from './deploy.ts'
export { deployErrorTable } from './errors.ts'
export type { LiveFolder, LiveFunctions } from './live-functions.ts'
export { findFault } from './lockfile.ts'
export { deploySizeLimit } from './manifest.ts'

export interface DeploysDeps extends Omit<LiveFunctionsOptions, 'directory'> {
  readonly queue: JobQueue
  /** `server.data_dir`. */
  readonly dataDirectory: string
  readonly findLoadProblem: FindLoadProblem
}

/** Creates the feature of the deploys of functions, and the live one as a folder. */
export function deploys({ queue, dataDirectory, findLoadProblem, ...options }: DeploysDeps): {
  readonly feature: Feature
  readonly live: LiveFunctions
} {
  const { database } = options
  const live = new LiveFunctions({ ...options, directory: join(dataDirectory, 'functions') })
  const trials = new TrialLoads(findLoadProblem)
  defineCleanup(database, queue)
  return {
    live,
    feature: {
      name: 'function-deploys',
      routes: (app) => addDeployRoutes(app, { database, live, trials }),
      stop: () => live.stop(),
    },
  }
}
