import { defineErrors } from '../../../lib/errors.ts'

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
    message: (name: string, table?: string) =>
      `unknown table: ${name}${table === undefined ? '' : `, a partition of ${table}`}`,
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
    help: 'The user has `realtime.max_connections_per_user` streams open, or the address `realtime.max_anonymous_connections_per_address` without a token, over all nodes.',
  },
  streamWithoutToken: {
    status: 409,
    message: 'the WebSocket has subscribed without a token; open another one to sign in',
    help: 'A WebSocket keeps the identity that it first subscribes with.',
  },
  upgradeRequired: {
    status: 426,
    message: 'expected a WebSocket handshake',
    help: 'Connect with a WebSocket client.',
  },
  originNotAllowed: {
    status: 403,
    message: 'origin not allowed',
    help: 'The page is of none of the origins in `server.cors_allowed_origins`. While `auth.enabled` is false, its `*` means pages of this machine.',
  },
  badHandshake: {
    status: 400,
    message: (problem: string) => `bad WebSocket handshake: ${problem}`,
    help: 'The request does not follow RFC 6455 §4.1.',
  },
  invalidMessage: {
    status: 400,
    message: (problem: string) => `invalid JSON: ${problem}`,
    help: 'A message of a WebSocket is a text frame with one JSON object. Sent in an `error` message.',
  },
  missingMessageType: {
    status: 400,
    message: 'missing message type',
    help: 'A message of a WebSocket names its `type`. Sent in an `error` message.',
  },
  unknownMessageType: {
    status: 400,
    message: (type: string) => `unknown message type: ${type}`,
    help: 'There is no such message. Sent in an `error` message.',
  },
  messageTooLarge: {
    status: 413,
    message: (limit: number) => `message exceeds ${limit} bytes`,
    help: 'Payloads of broadcasts and presences have limits of their own; everything else must fit into this one.',
  },
  missingToken: {
    status: 400,
    message: 'missing token',
    help: 'The message `auth` carries the access token as `token`.',
  },
  authenticationFailed: {
    status: 401,
    message: 'authentication failed',
    help: 'The token is not good, or it is of another user than the one the WebSocket was opened by.',
  },
  channelRequired: {
    status: 400,
    message: 'channel is required',
    help: 'The message names its `channel`.',
  },
  eventRequired: {
    status: 400,
    message: 'event is required',
    help: 'A broadcast names its `event`.',
  },
  invalidName: {
    status: 400,
    message: (what: string, problem: string) => `${what}: ${problem}`,
    help: 'The name of a channel or an event cannot be used.',
  },
  tooManyChannels: {
    status: 400,
    message: (limit: number) => `at most ${limit} channels may be subscribed to`,
    help: 'Open another WebSocket for the rest.',
  },
  channelAccessDenied: {
    status: 403,
    message: 'channel access denied',
    help: 'The policies of `basalt.realtime_channels` do not let the caller do this on the channel.',
  },
  notSubscribed: {
    status: 409,
    message: 'not subscribed to channel',
    help: 'Send `channel_subscribe` first.',
  },
  broadcastRateExceeded: {
    status: 429,
    message: 'broadcast rate limit exceeded',
    help: 'One WebSocket may send `realtime.broadcast_rate_limit_per_second` broadcasts a second.',
  },
  broadcastTooLarge: {
    status: 413,
    message: (limit: number) => `broadcast payload exceeds ${limit} bytes`,
    help: 'The limit is `realtime.broadcast_max_message_bytes`.',
  },
  presenceTooLarge: {
    status: 413,
    message: (limit: number) => `presence payload exceeds ${limit} bytes`,
    help: 'Presence is for a few members, such as a name and a place.',
  },
  invalidPresence: {
    status: 400,
    message: 'presence must be an object',
    help: 'Expected a JSON object as `presence`.',
  },
  subscriberNotFound: {
    status: 404,
    message: 'subscriber not found',
    help: '`as` is `admin`, `anonymous` or the id of a user.',
  },
  connectionNotFound: {
    status: 404,
    message: 'connection not found',
    help: 'No node has an open stream with this id.',
  },
} as const

export const realtimeErrors = defineErrors(realtimeErrorTable)
