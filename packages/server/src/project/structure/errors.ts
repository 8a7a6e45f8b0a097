import { defineErrors } from '../../lib/errors.ts'

export const structureErrorTable = {
  invalidStructureChange: {
    status: 400,
    message: (place: string, expected: string) => `${place}: ${expected}`,
    help: 'The change lacks a member, or one has a form it cannot have; the message names it and what was expected.',
  },
  statementRefused: {
    status: 400,
    message: (line: string, reason: string) => `line ${line}: ${reason}`,
    help: 'PostgreSQL refused a statement of the script; the message has its line and its words. Nothing was changed.',
  },
  migrationRefused: {
    status: 400,
    message: (reason: string) => reason,
    help: 'The script or its name cannot be a migration; the message says why. Nothing was changed.',
  },
  relationNotFound: {
    status: 404,
    message: (name: string) => `relation not found: ${name}`,
    help: 'There is no table or view of this name outside of the schemas of PostgreSQL and Basalt.',
  },
  migrationNotFound: {
    status: 404,
    message: (name: string) => `migration not found: ${name}`,
    help: 'The database knows no migration of this name.',
  },
  structureChanged: {
    status: 409,
    message: 'the structure has changed since this was planned; plan it again',
    help: 'Another administrator, a migration or a statement was quicker. Nothing was changed.',
  },
  migrationsInTheWay: {
    status: 409,
    message: (reason: string) => reason,
    help: 'The project has migrations that are pending, changed, missing or interrupted, which the message names. Nothing was changed.',
  },
  structureInUse: {
    status: 409,
    message: (reason: string) => reason,
    help: 'A statement waited for a lock in vain, because the relation is in use. Nothing was changed; try again.',
  },
} as const

export const structureErrors = defineErrors(structureErrorTable)
