import { isLoopback } from '../../../lib/addresses.ts'
import { type Check, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Check that clients reach the server at `server.public_base_url`. */
export const publicUrl: Check = {
  id: 'public_url',
  async run({ config, publicAddress }) {
    const { host, public_base_url } = config.server
    if (public_base_url === '') {
      if (isLoopback(host))
        throw new CheckSkipped('server.public_base_url is not set: only this machine is served')
      return [
        warning(
          'public_url',
          `server.public_base_url is not set, so links in mails lead to ${host}`,
          'public_base_url = "https://api.example.com"   # in [server]',
        ),
      ]
    }
    const { origin } = publicAddress.url
    const problem = await publicAddress.findProblem()
    if (problem === undefined) return [ok('public_url', `a server responds at ${origin}`)]
    return [failure('public_url', `${origin} ${problem}`, `curl -i ${origin}/health`)]
  },
}
