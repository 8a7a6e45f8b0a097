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
    help: '`sms.policy.senders` names who may send text messages, by default API keys with the action `sms:send` alone. Anonymous users never may.',
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
  premiumNumberNotAllowed: {
    status: 400,
    message: 'premium phone number not allowed',
    help: 'Messages to premium, shared-cost and personal numbers, and to numbers of no country such as satellite phones, cost their sender more.',
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
    help: 'A limit is used up: 1000 messages of the administration in an hour; `auth.limits.sms_messages_per_hour` of a user, with all credentials together; `sms.policy.messages_per_number_and_day` to one number; `sms.policy.messages_per_day` of all users. Wait for the number of seconds in the `Retry-After` header.',
  },
  smsNotSent: {
    status: 500,
    message: 'failed to send text message',
    help: 'The provider refused the message or could not be reached; `data.reason` tells administrators what it answered. Check `auth.sms_provider` and the keys of the provider.',
  },
} as const

export const smsErrors = defineErrors(smsErrorTable)
