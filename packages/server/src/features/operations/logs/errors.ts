import { defineErrors } from '../../../lib/errors.ts'

export const logErrorTable = {
  invalidLogCursor: {
    status: 400,
    message: 'invalid cursor',
    help: 'Send the `nextCursor` of the page before as it was answered.',
  },
  queryStatisticsUnavailable: {
    status: 503,
    message: 'query statistics are not available: the extension pg_stat_statements is not installed',
    help: 'Put pg_stat_statements into `shared_preload_libraries` of PostgreSQL, restart it, and create the extension.',
  },
} as const

export const logErrors = defineErrors(logErrorTable)
