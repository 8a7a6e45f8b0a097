import { queryPath } from './screens/activity/query-path.ts'
import type { AuditFilter } from './screens/audit/api.ts'
import type { EventFilter } from './screens/events/api.ts'
import type { RequestFilter } from './screens/requests/api.ts'
import { tableAddress } from './screens/structure/addresses.ts'

// Links between screens, below `/admin`. The parameter names are those that the target screen reads.

const below = (screen: string, id: string) => `${screen}/${encodeURIComponent(id)}`

/** Returns the link to the rows of a table. @param collection `posts`, or `schema.table` outside the schema `public` */
export const rowsLink = (
  collection: string,
  view: { readonly filter?: string; readonly row?: string } = {},
) => queryPath(below('/tables', collection), view)

export const structureLink = tableAddress

/** Returns the link to a new migration with this SQL. */
export const migrationLink = (sql: string, title: string) => queryPath('/structure', { sql, title })

export const sqlLink = (text: string) => queryPath('/sql', { text })

/** Returns the link to the Access screen for a user and the rows of a table. */
export const accessLink = ({
  table,
  id,
  user,
}: {
  readonly table?: string
  readonly id?: string
  readonly user?: string
}) => queryPath('/access', { as: user === undefined ? undefined : `user:${user}`, table, id })

export const objectLink = (bucket: string, object: string) => queryPath(below('/storage', bucket), { object })
export const userLink = (id: string) => below('/users', id)
export const linkedUsersLink = (provider: string) => queryPath('/users', { provider })
export const appLink = (id: string) => below('/apps', id)

export const searchLink = (collection: string) => below('/search', collection)
export const ticketsLink = (filter: { readonly user: string }) => queryPath('/support', filter)

export const requestLink = (id: string) => below('/requests', id)
export const requestsLink = (filter: RequestFilter) => queryPath('/requests', filter)
export const logsLink = (filter: { readonly requestId: string }) => queryPath('/logs', filter)
export const auditLink = (filter: AuditFilter & { readonly entry?: string }) => queryPath('/audit', filter)
export const eventsLink = (filter: EventFilter) => queryPath('/events', filter)
export const webhookLink = (id: string) => below('/webhooks', id)
export const previewLink = (subscriber: { readonly tables: string; readonly as: string }) =>
  queryPath('/realtime/preview', subscriber)
export const usageLink = (filter: { readonly app: string }) => queryPath('/usage', filter)
export const advisorsLink = (filter: { readonly severity?: string; readonly query?: string }) =>
  queryPath('/advisors', filter)
export const jobsLink = (filter: { readonly type?: string; readonly state?: string } = {}) =>
  queryPath('/jobs', filter)
export const jobLink = (id: string) => below('/jobs', id)
export const scheduleLink = (id: string) => below('/schedules', id)
