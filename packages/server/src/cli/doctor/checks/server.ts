import { inspect } from '../../status.ts'
import { type Check, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Check of the servers of this data directory: they respond, and have the version of this command. */
export const server: Check = {
  id: 'server',
  async run({ servers, version }) {
    const inspected = await Promise.all(servers.map(inspect))
    const found = inspected.filter(({ state }) => state !== 'stale')
    if (found.length === 0) throw new CheckSkipped('no server of this data directory runs on this machine')
    return found.map(({ state, url, pid, version: theirs, health }) => {
      const name = `process ${pid}`
      if (state === 'starting') return warning('server', `${name} does not listen yet`, 'basalt status')
      if (state === 'unwell') {
        const response = health === undefined ? 'does not respond' : `reports ${health.status}`
        return failure('server', `${name} at ${url} ${response}`, 'basalt logs --level warn')
      }
      if (theirs === version) return ok('server', `${name} serves ${url} (version ${theirs})`)
      return warning(
        'server',
        `${name} serves ${url} with version ${theirs}, this is ${version}`,
        'basalt reload',
      )
    })
  },
}
