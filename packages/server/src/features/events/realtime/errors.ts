import { defineErrors } from '../../../lib/errors.ts'

export const realtimeErrorTable = {
  tablesRequired: {
    status: 400,
    message: 'tables parameter is required',
    help: 'Name the tables to subscribe to: `tables=track,album`.',
  },
  noValidTable: {
    status: 400,
    message: 'at least one valid table is required',
    help: 'The parameter `tables` has no table name in it.',
  },
  unknownTable: {
    status: 400,
    message: (name: string, table?: string) =>
      `unknown table: ${name}${table === undefined ? '' : `, a partition of ${table}`}`,
    help: 'No table in `database.schemas` that the caller may read has this name. Views have no events.',
  },
  tooManyTables: {
    status: 400,
    message: (limit: number) => `tables: at most ${limit} may be listened to`,
    help: 'Open another stream for further tables.',
  },
  tooManySubscriptions: {
    status: 400,
    message: (limit: number) => `at most ${limit} subscriptions may be open over one WebSocket`,
    help: 'Complete one of them, or open another WebSocket.',
  },
  tooManyOperations: {
    status: 429,
    message: (limit: number) => `at most ${limit} operations may wait on one WebSocket`,
    help: 'Wait for the results of earlier operations.',
  },
  invalidStreamFilter: {
    status: 400,
    message: (problem: string) => `invalid filter: ${problem}`,
    help: 'Send `column=operator.value`, joined by commas. The operators are eq, neq, gt, gte, lt, lte and in.',
  },
  connectionLimitExceeded: {
    status: 429,
    message: 'connection limit exceeded',
    help: 'Over all nodes, the user has `realtime.max_connections_per_user` open streams, or the address has `realtime.max_anonymous_connections_per_address` without a token. Close a stream first.',
  },
  streamWithoutToken: {
    status: 409,
    message: 'the WebSocket has subscribed without a token; open another one to sign in',
    help: 'A WebSocket keeps the identity with which it first subscribes.',
  },
  upgradeRequired: {
    status: 426,
    message: 'expected a WebSocket handshake',
    help: 'Connect with a WebSocket client.',
  },
  originNotAllowed: {
    status: 403,
    message: 'origin not allowed',
    help: 'The origin of the page is not in `server.cors_allowed_origins`. While `auth.enabled` is false, `*` means pages of this machine.',
  },
  badHandshake: {
    status: 400,
    message: (problem: string) => `bad WebSocket handshake: ${problem}`,
    help: 'The request does not follow RFC 6455 §4.1.',
  },
  invalidMessage: {
    status: 400,
    message: (problem: string) => `invalid JSON: ${problem}`,
    help: 'A WebSocket message is a text frame with one JSON object. The server sends this error in an `error` message.',
  },
  missingMessageType: {
    status: 400,
    message: 'missing message type',
    help: 'A WebSocket message has a `type`. The server sends this error in an `error` message.',
  },
  unknownMessageType: {
    status: 400,
    message: (type: string) => `unknown message type: ${type}`,
    help: 'No message has this type. The server sends this error in an `error` message.',
  },
  messageTooLarge: {
    status: 413,
    message: (limit: number) => `message exceeds ${limit} bytes`,
    help: 'This limit applies to a message without its broadcast or presence payload. Payloads have limits of their own.',
  },
  missingToken: {
    status: 400,
    message: 'missing token',
    help: 'The message `auth` carries the access token as `token`.',
  },
  authenticationFailed: {
    status: 401,
    message: 'authentication failed',
    help: 'The token is invalid, or it belongs to another user than the one that opened the WebSocket.',
  },
  channelRequired: {
    status: 400,
    message: 'channel is required',
    help: 'Add the `channel` to the message.',
  },
  eventRequired: {
    status: 400,
    message: 'event is required',
    help: 'Add the `event` to the broadcast.',
  },
  invalidName: {
    status: 400,
    message: (what: string, problem: string) => `${what}: ${problem}`,
    help: 'Choose another name for the channel or event. The message has the reason.',
  },
  tooManyChannels: {
    status: 400,
    message: (limit: number) => `at most ${limit} channels may be subscribed to`,
    help: 'Open another WebSocket for further channels.',
  },
  channelAccessDenied: {
    status: 403,
    message: 'channel access denied',
    help: 'The policies of `basalt.realtime_channels` do not permit this use of the channel.',
  },
  notSubscribed: {
    status: 409,
    message: 'not subscribed to channel',
    help: 'Send `channel_subscribe` first.',
  },
  broadcastRateExceeded: {
    status: 429,
    message: 'broadcast rate limit exceeded',
    help: 'One WebSocket may send at most `realtime.broadcast_rate_limit_per_second` broadcasts a second.',
  },
  broadcastTooLarge: {
    status: 413,
    message: (limit: number) => `broadcast payload exceeds ${limit} bytes`,
    help: 'The limit is `realtime.broadcast_max_message_bytes`.',
  },
  presenceTooLarge: {
    status: 413,
    message: (limit: number) => `presence payload exceeds ${limit} bytes`,
    help: 'Presence is for a few fields, such as a name and a status.',
  },
  invalidPresence: {
    status: 400,
    message: 'presence must be an object',
    help: 'Send a JSON object as `presence`.',
  },
  subscriberNotFound: {
    status: 404,
    message: 'subscriber not found',
    help: 'Set `as` to `admin`, `anonymous` or the id of a user.',
  },
  connectionNotFound: {
    status: 404,
    message: 'connection not found',
    help: 'No node has an open stream with this id.',
  },
} as const

export const realtimeErrors = defineErrors(realtimeErrorTable)
