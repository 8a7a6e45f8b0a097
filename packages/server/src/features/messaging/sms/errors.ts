import { defineErrors } from '../../../lib/errors.ts'

export const smsErrorTable = {
  smsNotEnabled: {
    status: 404,
    message: 'SMS is not enabled',
    help: 'Text messages are disabled. Set `auth.sms_enabled`, or enable it in the auth settings.',
  },
  smsSenderNotPermitted: {
    status: 403,
    message: 'sending text messages is not permitted',
    help: '`sms.policy.senders` names the allowed senders, by default only API keys with the action `sms:send`. Anonymous users may never send.',
  },
  missingSmsField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'This member of the body is missing or empty.',
  },
  invalidPhoneNumber: {
    status: 400,
    message: 'invalid phone number',
    help: 'Send the number in international form, such as `+14155550132`. It must exist in the numbering plan of its country.',
  },
  phoneCountryNotAllowed: {
    status: 400,
    message: 'phone number country not allowed',
    help: 'The country of the number is not among `auth.sms_allowed_countries`.',
  },
  premiumNumberNotAllowed: {
    status: 400,
    message: 'premium phone number not allowed',
    help: 'Messages to premium, shared-cost and personal numbers cost their sender more. The same holds for numbers without a country, such as satellite phones.',
  },
  smsBodyTooLong: {
    status: 400,
    message: 'body exceeds maximum length',
    help: 'A text message has at most 1600 characters.',
  },
  invalidSmsBody: {
    status: 400,
    message: 'body: expected Unicode text without NUL',
    help: 'Neither telephones nor PostgreSQL accept the character U+0000 or half of a surrogate pair.',
  },
  smsMessageNotFound: {
    status: 404,
    message: 'message not found',
    help: 'The caller has no message with this id. Messages are deleted after `auth.sms_retention_days`.',
  },
  smsLimitReached: {
    status: 429,
    message: 'too many text messages',
    help: 'A limit is used up. Administrators may send 1000 messages an hour, and a user `auth.limits.sms_messages_per_hour`, over all credentials. `sms.policy.messages_per_number_and_day` limits messages to one number, and `sms.policy.messages_per_day` those of all users. Wait for the number of seconds in the `Retry-After` header.',
  },
  smsNotSent: {
    status: 500,
    message: 'failed to send text message',
    help: 'The provider refused the message or was unreachable. For administrators, `data.reason` has its response. Check `auth.sms_provider` and the keys of the provider.',
  },
} as const

export const smsErrors = defineErrors(smsErrorTable)
