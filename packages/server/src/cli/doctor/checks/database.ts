import { join } from 'node:path'
import { locateDatabase } from '../../../database/open.ts'
import { type Check, failure, ok } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Check that the database can be reached. The checks of its contents are skipped if it cannot. */
export const database: Check = {
  id: 'database',
  async run({ config, database: { state } }) {
    if (state.kind === 'absent') throw new CheckSkipped(state.reason)
    if (state.kind === 'connected')
      return [ok('database', `connected to ${locateDatabase(config)} in ${Math.ceil(state.connectMs)} ms`)]
    const isEmbedded = config.database.url === ''
    const log = join(config.server.data_dir, 'postgres.log')
    return [failure('database', state.reason, isEmbedded ? `tail ${log}` : 'basalt config   # database.url')]
  },
}
