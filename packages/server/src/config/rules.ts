import { isLoopback } from '../lib/addresses.ts'
import type { Config } from './schema.ts'

export interface RuleViolation {
  readonly key: string
  readonly problem: string
}

/** Rules that span several keys; each key by itself has already been checked. */
export function configRules(config: Config): RuleViolation[] {
  return [openDataNeedsLoopback, externalDatabaseNeedsSecret, systemSchemasStayHidden].flatMap(
    (rule) => rule(config) ?? [],
  )
}

/** Without auth everyone who reaches the port owns the data (decisions, Configuration). */
function openDataNeedsLoopback({ auth, server }: Config): RuleViolation | undefined {
  if (auth.enabled || server.insecure_open || isLoopback(server.host)) return undefined
  return {
    key: 'auth.enabled',
    problem: `false opens the data to everyone who reaches ${server.host}; listen on 127.0.0.1 or set server.insecure_open = true`,
  }
}

/** Several nodes must share the secret, so it cannot be generated beside an external database. */
function externalDatabaseNeedsSecret({ auth, database }: Config): RuleViolation | undefined {
  if (!auth.enabled || database.url === '' || auth.jwt_secret !== '') return undefined
  return { key: 'auth.jwt_secret', problem: 'required with database.url: at least 32 random characters' }
}

function systemSchemasStayHidden({ database }: Config): RuleViolation | undefined {
  const hidden = database.schemas.find(
    (name) => name === 'basalt' || name === 'information_schema' || name.startsWith('pg_'),
  )
  if (hidden === undefined) return undefined
  return { key: 'database.schemas', problem: `"${hidden}" is a system schema and cannot be served` }
}
