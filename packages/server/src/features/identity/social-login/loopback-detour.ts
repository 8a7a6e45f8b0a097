import type { FastifyRequest } from 'fastify'

const names: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

type Asking = Pick<FastifyRequest, 'headers' | 'url'>

/** Between what is random in a state and the name of the loopback address that its sign-in began on. */
const separator = '~'

/**
 * Returns where a browser begins that has opened this server under another name of the loopback address than its callbacks have: the
 * cookie of the start would not come along to a callback on the other name.
 */
export function findLoopbackDetour(request: Asking, publicBaseUrl: string): string | undefined {
  return findOtherName(request, publicBaseUrl) && `${new URL(publicBaseUrl).origin}${request.url}`
}

/**
 * Returns what the state of a sign-in ends with that cannot begin elsewhere, as a page or a stream of the same host waits for it: the
 * name that its cookie belongs to.
 */
export function nameInState(request: Asking, publicBaseUrl: string): string {
  const name = findOtherName(request, publicBaseUrl)
  return name === undefined ? '' : `${separator}${name}`
}

/** Returns the address of a callback on the name that its sign-in began on; undefined where the browser is there already. */
export function findWayBack(request: Asking, publicBaseUrl: string, state: string): string | undefined {
  const name = state.split(separator)[1] ?? ''
  const target = new URL(publicBaseUrl)
  if (!names.includes(name) || !names.includes(target.hostname)) return undefined
  if (hostnameOf(request) === name) return undefined
  target.hostname = name
  return `${target.origin}${request.url}`
}

function findOtherName(request: Asking, publicBaseUrl: string): string | undefined {
  const name = hostnameOf(request)
  const own = new URL(publicBaseUrl).hostname
  return name !== own && names.includes(name) && names.includes(own) ? name : undefined
}

function hostnameOf({ headers }: Asking): string {
  return URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
}
