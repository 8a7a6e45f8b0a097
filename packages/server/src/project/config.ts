import { automatic, flag, integer, text } from '../config/keys.ts'
import type { DatabaseSections } from '../database/open.ts'
import type { ServerConfig } from '../http/config.ts'
import { type Static, Type } from '../lib/type.ts'

const path = (fallback: string, description: string) =>
  text(fallback, description, { pattern: '.', expects: 'a path' })

/** `project`: the files of a project and how its migrations run. */
export const projectConfig = Type.Object({
  migrations: path('migrations', 'Folder of the migrations of your own schema.'),
  current: path('schema/current.sql', 'The migration that `basalt dev` applies at every change.'),
  seed: path('seed.sql', 'Rows for development; `basalt db seed` and `basalt dev` run it.'),
  types: text('', 'File for TypeScript types, which `basalt dev` writes. Empty: none.', {
    expects: 'a path',
  }),
  policies: path('tests/policies', 'Folder of the cases of `basalt policy test`.'),
  migrate_at_start: automatic(
    'Whether a start applies what is missing of project.migrations. auto: in development; elsewhere it says so in the log.',
  ),
  lock_timeout_ms: integer(
    2000,
    'Milliseconds a migration waits for a lock, and others behind it, before it is tried again.',
    10,
    600_000,
  ),
  lock_attempts: integer(8, 'How often a migration that waits for a lock in vain is tried.', 1, 1000),
  statement_timeout_ms: integer(600_000, 'Milliseconds a statement of a migration may run.', 100, 86_400_000),
  development: flag(
    false,
    'Whether an external database is one for development, which `basalt db reset` may empty.',
  ),
})

export type ProjectConfig = Static<typeof projectConfig>

/** Sections of the configuration that the commands of a project read. */
export interface ProjectSections extends DatabaseSections {
  readonly project: ProjectConfig
  readonly server: ServerConfig
  readonly auth: DatabaseSections['auth'] & { readonly enabled: boolean }
}
