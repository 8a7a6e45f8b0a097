import { defineErrors } from '../../../lib/errors.ts'

export const logErrorTable = {
  invalidLogCursor: {
    status: 400,
    message: 'invalid cursor',
    help: 'Send the `nextCursor` of the previous page unchanged.',
  },
  queryStatisticsUnavailable: {
    status: 503,
    message: 'query statistics are not available: the extension pg_stat_statements is not installed',
    help: 'Add pg_stat_statements to `shared_preload_libraries` of PostgreSQL, restart it, and create the extension.',
  },
} as const

export const logErrors = defineErrors(logErrorTable)
