import type { FastifyRequest } from 'fastify'
import { adminCookieOf } from './admin-cookie.ts'

/** Returns true for a read by the session of the dashboard, and for the files of its page. */
export function isReadOfDashboard(request: FastifyRequest): boolean {
  const { method, identity, headers } = request
  if ((method !== 'GET' && method !== 'HEAD') || headers.cookie === undefined) return false
  if (headers.authorization !== undefined || adminCookieOf(request) === undefined) return false
  return (
    identity?.kind === 'admin' || request.routeOptions.config.operation?.startsWith('dashboard.') === true
  )
}
