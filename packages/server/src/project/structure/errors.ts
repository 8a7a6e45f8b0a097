import { defineErrors } from '../../lib/errors.ts'

export const structureErrorTable = {
  invalidStructureChange: {
    status: 400,
    message: (member: string, expected: string) => `${member}: ${expected}`,
    help: 'The change lacks a member, or has an invalid one. The message names it and says what was expected.',
  },
  statementRefused: {
    status: 400,
    message: (line: string, reason: string) => `line ${line}: ${reason}`,
    help: "PostgreSQL rejected a statement of the script. The message has the line and PostgreSQL's text. Nothing was changed.",
  },
  migrationRefused: {
    status: 400,
    message: (reason: string) => reason,
    help: 'The script or its name cannot be a migration. The message has the reason. Nothing was changed.',
  },
  relationNotFound: {
    status: 404,
    message: (name: string) => `relation not found: ${name}`,
    help: 'No table or view outside of the schemas of PostgreSQL and Basalt has this name.',
  },
  migrationNotFound: {
    status: 404,
    message: (name: string) => `migration not found: ${name}`,
    help: 'The database has no migration with this name.',
  },
  structureChanged: {
    status: 409,
    message: 'the structure has changed since this was planned; plan it again',
    help: 'Another administrator, a migration or a statement was quicker. Nothing was changed.',
  },
  migrationsInTheWay: {
    status: 409,
    message: (reason: string) => reason,
    help: 'The project has migrations that are pending, changed, missing or interrupted. The message names them. Nothing was changed.',
  },
  structureInUse: {
    status: 409,
    message: (reason: string) => reason,
    help: 'The relation is in use, so a statement could not get a lock. Nothing was changed. Retry.',
  },
} as const

export const structureErrors = defineErrors(structureErrorTable)
