import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../../database/sql.ts'
import { createAllowlist } from '../../../lib/addresses.ts'
import { type Check, type CheckContext, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'
import { exchange } from '../exchange.ts'

/** Address that no client has (RFC 5737), sent as a client would forge it. */
const forged = '203.0.113.77'
/** Time until a request is stored: nodes write every two seconds. */
const storedMs = 8000
const pollMs = 250

const overwrite = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;   # nginx (deploy/nginx.conf)'

/**
 * Check of the client addresses that the server sees through its proxy, as it stores them with each request. It
 * sends a forged `X-Forwarded-For`, which a proxy must not pass on alone.
 */
export const forwardedHeaders: Check = {
  id: 'forwarded_headers',
  timeoutMs: 20_000,
  async run(context) {
    const { config, publicAddress, signal } = context
    await publicAddress.requireServer()
    if (!config.logging.store_requests)
      throw new CheckSkipped('logging.store_requests is false, so the address is not stored')
    const url = publicAddress.at('/health')
    const own = plain((await exchange(url, { signal })).localAddress)
    const trusted = config.server.trusted_proxies
    // The headers of a trusted client count, so a forged one would prove nothing.
    const isTrusted = trusted.length > 0 && createAllowlist(trusted)(own)
    const { headers } = await exchange(url, {
      headers: isTrusted ? {} : { 'x-forwarded-for': forged },
      signal,
    })
    const requestId = headers['x-request-id']
    if (typeof requestId !== 'string') throw new CheckSkipped('the proxy removes X-Request-Id')
    const address = await findStored(context, requestId)
    if (address === undefined)
      throw new CheckSkipped('the request is not in this database: does the address lead to another server?')
    return [judge(address, own, trusted)]
  },
}

function judge(address: string, own: string, trusted: readonly string[]) {
  const id = 'forwarded_headers'
  if (address === forged) {
    return failure(
      id,
      'clients can choose the address that the server sees: the proxy passes their X-Forwarded-For on unchanged',
      overwrite,
    )
  }
  if (address === own) return ok(id, `the server sees clients with their own address (${address})`)
  if (trusted.length === 0) {
    return warning(
      id,
      `the server sees this client (${own}) as ${address}: if that is the proxy, all clients share one address in limits and logs`,
      `trusted_proxies = ["${address}"]   # in [server]`,
    )
  }
  if (createAllowlist(trusted)(address)) {
    return warning(
      id,
      `the server sees this client (${own}) as the proxy ${address}, which sends no X-Forwarded-For`,
      overwrite,
    )
  }
  return ok(id, `the server sees this client as ${address}`)
}

/** Returns the stored address of a request; undefined if it is not stored in time. */
async function findStored(
  { database, signal }: CheckContext,
  requestId: string,
): Promise<string | undefined> {
  const deadline = performance.now() + storedMs
  for (;;) {
    const row = await database.readPrepared((transaction) =>
      transaction.maybeOne<{ address: string | null }>(
        sql`select address from basalt.requests where request_id = ${requestId} order by happened_at desc limit 1`,
      ),
    )
    if (row !== undefined) return row.address ?? ''
    if (performance.now() > deadline) return undefined
    await delay(pollMs, undefined, { signal })
  }
}

/** Returns an address without the prefix of one that is mapped to IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:/, '')
}
