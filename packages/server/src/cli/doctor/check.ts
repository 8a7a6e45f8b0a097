import type { Config } from '../../configuration.ts'
import type { NotedServer } from '../server-note.ts'
import type { DatabaseAccess } from './database-access.ts'
import type { Outside } from './outside.ts'
import type { PublicAddress } from './public-address.ts'

export const statuses = ['ok', 'warning', 'failure', 'skipped'] as const
export type Status = (typeof statuses)[number]

/** Result of a check, or of a part of it. */
export interface Finding {
  /** Id of the check, with a part of it behind a dot: `listen`, `roles.gateway`. It never changes. */
  readonly id: string
  readonly status: Status
  /** One sentence. */
  readonly message: string
  /** Command, SQL or configuration line that resolves the finding; null if there is none. */
  readonly fix: string | null
}

/** Check of one aspect of a deployment. It changes nothing. */
export interface Check {
  readonly id: string
  /** Milliseconds after which the check is a failure. */
  readonly timeoutMs?: number
  /** @throws CheckSkipped if the deployment lacks what the check examines */
  run(context: CheckContext): Promise<readonly Finding[]>
}

/** Deployment as the checks see it. */
export interface CheckContext {
  readonly config: Config
  /** Version of this command. */
  readonly version: string
  /** Servers of the data directory. */
  readonly servers: readonly NotedServer[]
  readonly database: DatabaseAccess
  readonly publicAddress: PublicAddress
  readonly outside: Outside
  /** Signal that aborts when the time of the check is over. */
  readonly signal: AbortSignal
}

export const ok = (id: string, message: string): Finding => ({ id, status: 'ok', message, fix: null })

export const skipped = (id: string, message: string): Finding => ({
  id,
  status: 'skipped',
  message,
  fix: null,
})

export const warning = (id: string, message: string, fix: string): Finding => ({
  id,
  status: 'warning',
  message,
  fix,
})

export const failure = (id: string, message: string, fix: string | null): Finding => ({
  id,
  status: 'failure',
  message,
  fix,
})
