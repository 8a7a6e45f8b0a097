import { defineErrors } from '../../../lib/errors.ts'

export const pushErrorTable = {
  pushDisabled: {
    status: 503,
    message: 'push notifications are not enabled',
    help: 'The server runs with `push.enabled = false`.',
  },
  invalidPush: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body or a parameter is missing or malformed. The message names it.',
  },
  pushSenderNotPermitted: {
    status: 403,
    message: 'sending push notifications is not permitted',
    help: 'API keys and OAuth tokens with the action `push:send` can send, to devices of their own app. Users cannot.',
  },
  pushLimitReached: {
    status: 429,
    message: 'too many push notifications',
    help: 'A user has used up `push.policy.sends_per_hour`, over all keys and tokens. Wait for the number of seconds in the `Retry-After` header.',
  },
  invalidDeviceToken: {
    status: 400,
    message: 'invalid device token: device token is inactive',
    help: 'The device was revoked, or its provider no longer knows it. It becomes active when it registers again.',
  },
  payloadTooLarge: {
    status: 400,
    message: (bytes: number, limit: number) => `payload too large: payload is ${bytes} bytes (max ${limit})`,
    help: 'Providers limit title, body, data and options together. Send an id and have the app fetch the rest.',
  },
  pushAppNotFound: {
    status: 404,
    message: 'app not found',
    help: 'No app has this id. `GET /api/admin/apps` lists the apps.',
  },
  pushUserNotFound: {
    status: 404,
    message: 'user not found',
    help: 'No user has this id.',
  },
  deviceNotFound: {
    status: 404,
    message: 'device token not found',
    help: 'No device has this id, or it belongs to another user.',
  },
  pushTokenNotFound: {
    status: 404,
    message: 'not found',
    help: 'No device has the id that `token_id` names. `GET /api/admin/push/devices` lists the devices.',
  },
  pushDeliveryNotFound: {
    status: 404,
    message: 'delivery not found',
    help: 'No delivery has this id. Deliveries are deleted after `push.retention_days`.',
  },
  sendNotFound: {
    status: 404,
    message: 'send not found',
    help: 'No message has this id. Messages are deleted after `push.retention_days`.',
  },
  pushKeyReused: {
    status: 422,
    message: 'idempotency_key was used for another message',
    help: 'The same key returns the first message. Use another key for another message.',
  },
} as const

export const pushErrors = defineErrors(pushErrorTable)
