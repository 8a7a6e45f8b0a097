import { isIP } from 'node:net'
import { connect, type PeerCertificate, rootCertificates } from 'node:tls'
import { isLoopback } from '../../../lib/addresses.ts'
import { type Check, type CheckContext, type Finding, failure, ok, skipped, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'
import { exchange, reasonOf } from '../exchange.ts'

const warningDays = 14
const dayMs = 86_400_000
const redirectTimeoutMs = 4000

/** Check of the certificate at `server.public_base_url`, and of the redirect to it. */
export const tls: Check = {
  id: 'tls',
  async run(context) {
    const { url } = context.publicAddress
    if (url.protocol === 'http:') {
      if (isLoopback(url.hostname))
        throw new CheckSkipped('server.public_base_url is an address of this machine')
      return [
        warning(
          'tls',
          'server.public_base_url is http: passwords and tokens are sent without encryption',
          'public_base_url = "https://…"   # in [server], with a certificate at the proxy',
        ),
      ]
    }
    return [await describeCertificate(context, url), await describeRedirect(context, url)]
  },
}

async function describeCertificate({ outside, signal }: CheckContext, url: URL): Promise<Finding> {
  const id = 'tls.certificate'
  const fix = `certbot renew --cert-name ${url.hostname}   # or the tool that issues your certificates, then reload the proxy`
  let peer: Peer
  try {
    peer = await readPeer(outside.reach(url), url.hostname, outside.trust, signal)
  } catch (error) {
    return failure(
      id,
      `${url.host} accepts no TLS connection: ${reasonOf(error)}`,
      `openssl s_client -connect ${url.hostname}:${url.port || 443}`,
    )
  }
  const { certificate, problem } = peer
  const days = Math.floor((Date.parse(certificate.valid_to) - outside.clock.now().getTime()) / dayMs)
  if (days < 0)
    return failure(id, `the certificate of ${url.hostname} expired on ${certificate.valid_to}`, fix)
  if (problem !== undefined)
    return failure(id, `clients reject the certificate of ${url.hostname}: ${problem}`, fix)
  if (days < warningDays)
    return warning(id, `the certificate of ${url.hostname} expires in ${days} days`, fix)
  return ok(id, `the certificate of ${url.hostname} is valid for ${days} days`)
}

/** Frequent reasons for which clients reject a certificate. */
const problems: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its authority is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its authority is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the proxy does not send the intermediate certificates',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for other names',
}

interface Peer {
  readonly certificate: PeerCertificate
  /** Reason why a client would reject it. */
  readonly problem: string | undefined
}

function readPeer(target: URL, name: string, trust: string | undefined, signal: AbortSignal): Promise<Peer> {
  const { promise, resolve, reject } = Promise.withResolvers<Peer>()
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const serverName = name.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: Number(target.port || 443),
    // Addresses are no server names (RFC 6066 §3).
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    rejectUnauthorized: false,
    ...(trust === undefined ? {} : { ca: [...rootCertificates, trust] }),
  })
  const abort = () => socket.destroy(new Error('no handshake in time'))
  signal.addEventListener('abort', abort, { once: true })
  socket.on('error', reject)
  socket.on('secureConnect', () => {
    // Despite its type it is the code of the reason.
    const reason = socket.authorized ? undefined : String(socket.authorizationError)
    const certificate = socket.getPeerCertificate()
    resolve({ certificate, problem: reason === undefined ? undefined : (problems[reason] ?? reason) })
    socket.destroy()
  })
  return promise.finally(() => signal.removeEventListener('abort', abort))
}

async function describeRedirect({ outside, signal }: CheckContext, url: URL): Promise<Finding> {
  const id = 'tls.redirect'
  if (url.port !== '') return skipped(id, 'the port is not 443, so there is no port for http')
  const plain = new URL('/', `http://${url.host}`)
  try {
    const { status, headers } = await exchange(outside.reach(plain), {
      headers: { host: url.host },
      signal: AbortSignal.any([signal, AbortSignal.timeout(redirectTimeoutMs)]),
    })
    if (status >= 300 && status < 400 && /^https:/i.test(headers.location ?? ''))
      return ok(id, 'http is redirected to https')
    return warning(
      id,
      `http://${url.host} is served without a redirect to https (${status})`,
      'return 301 https://$host$request_uri;   # nginx, in the server that listens on 80',
    )
  } catch {
    return ok(id, 'nothing is served without TLS')
  }
}
