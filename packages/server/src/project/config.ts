import { automatic, flag, integer, text } from '../config/keys.ts'
import type { DatabaseSections } from '../database/open.ts'
import type { ServerConfig } from '../http/config.ts'
import { type Static, Type } from '../lib/type.ts'

const path = (fallback: string, description: string) =>
  text(fallback, description, { pattern: '.', expects: 'a path' })

/** Configuration section `project`: the files of a project and the settings of its migrations. */
export const projectConfig = Type.Object({
  migrations: path('migrations', "Folder of the project's migrations."),
  current: path(
    'schema/current.sql',
    'File with the change in progress, which `basalt dev` applies on every save.',
  ),
  seed: path('seed.sql', 'File with rows for development, which `basalt db seed` and `basalt dev` run.'),
  types: text('', 'File for TypeScript types, written by `basalt dev`. Empty: none.', {
    expects: 'a path',
  }),
  policies: path('tests/policies', 'Folder with the cases of `basalt policy test`.'),
  migrate_at_start: automatic(
    'Applies pending migrations of project.migrations at startup. auto: in development; elsewhere the log says that they are pending.',
  ),
  lock_timeout_ms: integer(
    2000,
    'Milliseconds that a migration waits for a lock before it is retried. Other statements queue up after it.',
    10,
    600_000,
  ),
  lock_attempts: integer(8, 'Maximum number of attempts of a migration that waits for a lock.', 1, 1000),
  statement_timeout_ms: integer(
    600_000,
    'Maximum run time of a migration statement, in milliseconds.',
    100,
    86_400_000,
  ),
  development: flag(
    false,
    'Marks an external database as one for development, which `basalt db reset` may empty.',
  ),
})

export type ProjectConfig = Static<typeof projectConfig>

/** Configuration sections that the project commands read. */
export interface ProjectSections extends DatabaseSections {
  readonly project: ProjectConfig
  readonly server: ServerConfig
  readonly auth: DatabaseSections['auth'] & { readonly enabled: boolean }
}
