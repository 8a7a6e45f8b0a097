import type { AddressInfo } from 'node:net'
import type { App } from './app.ts'
import type { Config } from './configuration.ts'
import { type Advisories, advise } from './database/catalog/advisories.ts'
import type { ReplicaStatus } from './database/replicas/read-replicas.ts'
import type { FirstSignIn } from './features/operations/admin/index.ts'
import { httpOrigin } from './lib/addresses.ts'

/** Report of a server that listens, for people and for commands beside it. */
export interface StartReport {
  /** URL on this machine, whatever the public address. */
  readonly url: string
  /** Command lines that reach an embedded database. */
  readonly psql: readonly string[]
  readonly facts: Facts
  readonly firstSignIn: FirstSignIn | undefined
}

/** Facts about a server that listens. */
export interface Facts extends Advisories {
  readonly url: string
  readonly dashboard?: string
  readonly database: string
  readonly location: string
  /** Read replicas, each with the reason if it is not in use. */
  readonly replicas?: readonly string[]
  readonly dataDirectory: string
  readonly tables: number
}

export function reportStart(app: App, config: Config): StartReport {
  const { address, port } = app.http.server.address() as AddressInfo
  return {
    url: httpOrigin(address, port),
    psql: [...app.database.psql],
    facts: collectFacts(app, config),
    firstSignIn: app.firstSignIn,
  }
}

function collectFacts(app: App, config: Config): Facts {
  const { current } = app.catalog
  const dashboard = app.dashboardUrl()
  return {
    url: app.publicBaseUrl(),
    ...(dashboard === undefined ? {} : { dashboard }),
    database: `${app.database.mode}, PostgreSQL ${app.database.engine.version}`,
    location: app.database.location,
    ...(app.database.replicas === undefined
      ? {}
      : { replicas: app.database.replicas.list().map(describeReplica) }),
    dataDirectory: config.server.data_dir,
    tables: current.relations.size,
    // While auth is off everything is open anyway.
    ...(config.auth.enabled ? advise(current) : nothingToAdvise),
  }
}

function describeReplica({ address, refusal }: Pick<ReplicaStatus, 'address' | 'refusal'>): string {
  return refusal === undefined ? `${address} in use` : `${address} not in use: ${refusal}`
}

const nothingToAdvise: Advisories = {
  tablesWithoutRls: [],
  publicTablesWithoutRls: [],
  closedWithoutRls: [],
  definersWithoutSearchPath: [],
  functionsOfPublic: [],
}
