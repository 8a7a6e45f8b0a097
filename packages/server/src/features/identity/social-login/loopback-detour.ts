import type { FastifyRequest } from 'fastify'

const names: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

type RequestHost = Pick<FastifyRequest, 'headers' | 'url'>

/** Separator between the random part of a state and the loopback name that its sign-in began on. */
const separator = '~'

/**
 * Returns where the browser must start when it opened this server under another loopback name than that of
 * the callbacks. Otherwise the callback would not receive the cookie of the start.
 */
export function findLoopbackDetour(request: RequestHost, publicBaseUrl: string): string | undefined {
  return findOtherName(request, publicBaseUrl) && `${new URL(publicBaseUrl).origin}${request.url}`
}

/**
 * Returns the suffix of the state for a sign-in that must start here, because a page or stream of the same
 * host waits for it. The suffix is the host name of its cookie.
 */
export function stateSuffix(request: RequestHost, publicBaseUrl: string): string {
  const name = findOtherName(request, publicBaseUrl)
  return name === undefined ? '' : `${separator}${name}`
}

/**
 * Returns the address of a callback on the host name that its sign-in began on. Returns undefined if the
 * browser already uses that name.
 */
export function findReturnAddress(
  request: RequestHost,
  publicBaseUrl: string,
  state: string,
): string | undefined {
  const name = state.split(separator)[1] ?? ''
  const target = new URL(publicBaseUrl)
  if (!names.includes(name) || !names.includes(target.hostname)) return undefined
  if (hostnameOf(request) === name) return undefined
  target.hostname = name
  return `${target.origin}${request.url}`
}

function findOtherName(request: RequestHost, publicBaseUrl: string): string | undefined {
  const name = hostnameOf(request)
  const own = new URL(publicBaseUrl).hostname
  return name !== own && names.includes(name) && names.includes(own) ? name : undefined
}

function hostnameOf({ headers }: RequestHost): string {
  return URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
}
