import { statfs } from 'node:fs/promises'
import type { Config } from '../../configuration.ts'
import { systemClock } from '../../lib/clock.ts'
import { readVersion } from '../../package.ts'
import { findServers } from '../server-note.ts'
import type { Check, Finding } from './check.ts'
import { DoctorDatabase } from './database-access.ts'
import type { Outside } from './outside.ts'
import { PublicAddress } from './public-address.ts'
import { runChecks } from './run-checks.ts'

/** Runs the checks on a deployment. @param replaced parts of the outside world, for tests */
export async function examine(
  config: Config,
  checks: readonly Check[],
  replaced: Partial<Outside> = {},
): Promise<Finding[]> {
  const outside: Outside = { clock: systemClock, measureDisk, reach: (url) => url, ...replaced }
  const common = {
    config,
    outside,
    version: readVersion(),
    servers: findServers(config.server.data_dir).filter(({ isAlive }) => isAlive),
    publicAddress: new PublicAddress(config, outside),
  }
  const database = await DoctorDatabase.open(config)
  try {
    return await runChecks(checks, config, (signal) => ({
      ...common,
      signal,
      database: database.accessFor(signal),
    }))
  } finally {
    await database.close()
  }
}

async function measureDisk(path: string) {
  const { bsize, blocks, bavail } = await statfs(path)
  return { totalBytes: bsize * blocks, freeBytes: bsize * bavail }
}
