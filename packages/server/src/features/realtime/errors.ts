import { defineErrors } from '../../lib/errors.ts'

export const realtimeErrorTable = {
  tablesRequired: {
    status: 400,
    message: 'tables parameter is required',
    help: 'Name the tables to listen to: `tables=track,album`.',
  },
  noValidTable: {
    status: 400,
    message: 'at least one valid table is required',
    help: 'The list of tables holds no name.',
  },
  unknownTable: {
    status: 400,
    message: (name: string) => `unknown table: ${name}`,
    help: 'No table of `database.schemas` that the caller may read has this name. Views have no changes of their own.',
  },
  tooManyTables: {
    status: 400,
    message: (limit: number) => `tables: at most ${limit} may be listened to`,
    help: 'Open another stream for the rest.',
  },
  invalidStreamFilter: {
    status: 400,
    message: (problem: string) => `invalid filter: ${problem}`,
    help: 'Expected `column=operator.value`, joined by commas; operators are eq, neq, gt, gte, lt, lte and in.',
  },
  connectionLimitExceeded: {
    status: 429,
    message: 'connection limit exceeded',
    help: 'The user has `realtime.max_connections_per_user` streams open, over all nodes.',
  },
  upgradeRequired: {
    status: 426,
    message: 'expected a WebSocket handshake',
    help: 'Connect with a WebSocket client.',
  },
  originNotAllowed: {
    status: 403,
    message: 'origin not allowed',
    help: 'WebSockets from other origins must be listed by name in `server.cors_allowed_origins`.',
  },
  connectionNotFound: {
    status: 404,
    message: 'connection not found',
    help: 'No node has an open stream with this id.',
  },
} as const

export const realtimeErrors = defineErrors(realtimeErrorTable)
