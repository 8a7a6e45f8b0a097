import { formatBytes } from '../../table.ts'
import { type Check, failure, ok } from '../check.ts'
import { exchange, reasonOf } from '../exchange.ts'

/** Maximum size of the body that is sent. */
const mostBytes = 16 * 1024 * 1024

/** Check that the proxy passes bodies of `server.body_limit`. The body lacks every field, so that nothing is done. */
export const bodyLimit: Check = {
  id: 'body_limit',
  timeoutMs: 20_000,
  async run({ config, publicAddress, signal }) {
    await publicAddress.requireServer()
    const { body_limit } = config.server
    const size = Math.min(body_limit, mostBytes)
    const [start, end] = ['{"padding":"', '"}']
    const body = Buffer.from(`${start}${'x'.repeat(size - start.length - end.length)}${end}`)
    const shown = formatBytes(size)
    const fix = `client_max_body_size ${Math.ceil(body_limit / 1_048_576)}m;   # nginx; at least server.body_limit`
    try {
      const { status, text } = await exchange(publicAddress.at('/api/auth/login'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
        body,
        signal,
      })
      if (status !== 413) return [ok('body_limit', `a body of ${shown} reaches the server`)]
      if (isOwnError(text)) {
        return [
          failure(
            'body_limit',
            `the running server rejects a body of ${shown}, which server.body_limit permits`,
            'basalt reload   # or restart: the server runs with another server.body_limit',
          ),
        ]
      }
      return [
        failure('body_limit', `the proxy rejects a body of ${shown}, which server.body_limit permits`, fix),
      ]
    } catch (error) {
      return [
        failure(
          'body_limit',
          `the connection broke while a body of ${shown} was sent (${reasonOf(error)})`,
          fix,
        ),
      ]
    }
  },
}

/** Returns true for an error of Basalt: its envelope names the reference. */
function isOwnError(text: string): boolean {
  return text.includes('"doc_url"')
}
