import { countWorkers } from '../config/workers.ts'
import type { Config } from '../configuration.ts'
import { OperatorError } from '../lib/errors.ts'

/** Key whose value a reload cannot change, with the reason. */
interface FixedKey {
  readonly key: string
  readonly value: (config: Config) => unknown
  readonly why: string
}

const socket = 'the workers share the socket that the start has opened'
const embedded = 'the embedded PostgreSQL belongs to the parent'

const fixedKeys: readonly FixedKey[] = [
  { key: 'server.host', value: ({ server }) => server.host, why: socket },
  { key: 'server.port', value: ({ server }) => server.port, why: socket },
  { key: 'admin.listen', value: ({ admin }) => admin.listen, why: socket },
  {
    key: 'server.data_dir',
    value: ({ server }) => server.data_dir,
    why: 'other commands find the server there',
  },
  { key: 'database.url', value: ({ database }) => database.url === '', why: embedded },
  { key: 'database.embedded_port', value: ({ database }) => database.embedded_port, why: embedded },
  {
    key: 'database.branch',
    value: ({ database }) => (database.url === '' ? database.branch : ''),
    why: 'only a start creates the embedded database of a branch',
  },
  { key: 'logging.format', value: ({ logging }) => logging.format, why: 'the parent writes the log' },
  {
    key: 'server.workers',
    value: (config) => countWorkers(config) === 1,
    why: 'a single process has no parent',
  },
]

/**
 * Rejects a configuration that needs a restart.
 *
 * @throws OperatorError that names the keys
 */
export function requireReloadable(current: Config, next: Config): void {
  const changed = fixedKeys.filter(({ value }) => value(current) !== value(next))
  if (changed.length === 0) return
  const list = changed.map(({ key, why }) => `${key} has changed (${why})`).join(', ')
  throw new OperatorError(`restart needed: ${list}`)
}
