import { defineErrors } from '../../../lib/errors.ts'

export const smsErrorTable = {
  smsNotEnabled: {
    status: 404,
    message: 'SMS is not enabled',
    help: 'Text messages are off: `auth.sms_enabled`, which administrators can switch while the server runs.',
  },
  smsSenderNotPermitted: {
    status: 403,
    message: 'sending text messages is not permitted',
    help: 'Anonymous users send none: anyone can have any number of such accounts, and messages cost money.',
  },
  missingSmsField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body is missing or empty.',
  },
  invalidPhoneNumber: {
    status: 400,
    message: 'invalid phone number',
    help: '`to` is a number in international form that exists in the numbering plan of its country: `+14155550132`.',
  },
  phoneCountryNotAllowed: {
    status: 400,
    message: 'phone number country not allowed',
    help: 'The country of the number is not among `auth.sms_allowed_countries`.',
  },
  smsBodyTooLong: {
    status: 400,
    message: 'body exceeds maximum length',
    help: 'A text message has at most 1600 characters.',
  },
  invalidSmsBody: {
    status: 400,
    message: 'body: expected Unicode text without NUL',
    help: 'Neither telephones nor PostgreSQL take the character U+0000 or half of a surrogate pair.',
  },
  smsMessageNotFound: {
    status: 404,
    message: 'message not found',
    help: 'No message of the caller has this id. Messages are removed after `auth.sms_retention_days`.',
  },
  smsLimitReached: {
    status: 429,
    message: 'too many text messages',
    help: 'The limit of the hour is used up: 1000 messages of the administration, `auth.limits.sms_messages_per_hour` of a user. Wait for the number of seconds in the `Retry-After` header.',
  },
  smsNotSent: {
    status: 500,
    message: 'failed to send text message',
    help: 'The provider refused the message or could not be reached; `data.reason` says what it answered. Check `auth.sms_provider` and the keys of the provider.',
  },
} as const

export const smsErrors = defineErrors(smsErrorTable)
