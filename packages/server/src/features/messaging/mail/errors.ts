import { defineErrors } from '../../../lib/errors.ts'

export const mailErrorTable = {
  invalidTemplateKey: {
    status: 400,
    message: (key: string) => `invalid template key format: "${key}"`,
    help: 'A key is at least two lower-case words joined by dots, such as `shop.order_shipped`: letters first, then letters and digits, underscores too after the first dot; at most 255 characters.',
  },
  missingTemplateField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body is missing or empty.',
  },
  templateTooLarge: {
    status: 400,
    message: (problem: string) => `template exceeds size limit: ${problem}`,
    help: 'A subject may have 1000 characters, an HTML part 256000 characters and 10000 tags, the whole request 2 MiB.',
  },
  templateParseError: {
    status: 400,
    message: (problem: string) => `template parse error: ${problem}`,
    help: 'Placeholders are written `{{.Name}}` and stand in text or in attribute values; other text between double braces is refused.',
  },
  templateRenderError: {
    status: 400,
    message: (problem: string) => `template render error: ${problem}`,
    help: 'A placeholder has no value among `variables`, or its value cannot stand where the placeholder does; the message names it.',
  },
  invalidRecipient: {
    status: 400,
    message: 'invalid email address',
    help: '`to` is one address without a name, such as `alice@example.com`.',
  },
  templateNotFound: {
    status: 404,
    message: 'template not found',
    help: 'The key has neither a built-in nor an enabled custom template. To change or delete one, it must be a custom one.',
  },
  templateChanged: {
    status: 409,
    message: 'the template was changed since it was read',
    help: '`replaces` is not what is in force now. Read the template again, and save what is to stand.',
  },
  mailSenderNotPermitted: {
    status: 403,
    message: 'email sending is not permitted',
    help: '`email.policy.senders` names who may send mail; anonymous users never may, and programs need the action `email:send`.',
  },
  systemTemplateNotPermitted: {
    status: 403,
    message: 'templates of the system are not sent by users',
    help: 'Templates whose key begins with `auth.` are sent by the system and by administrators alone.',
  },
  fromAddressNotAllowed: {
    status: 403,
    message: 'from address not allowed',
    help: '`from` may be the address of `email.from` or one of `email.policy.allowed_from_addresses`.',
  },
  invalidMailField: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body has a value that it cannot take; the message names it.',
  },
  tooManyRecipients: {
    status: 400,
    message: (most: number) => `too many recipients: at most ${most}`,
    help: 'The limit of a request is `email.policy.max_recipients_per_request`.',
  },
  mailNotConfigured: {
    status: 501,
    message: 'email sending is not configured',
    help: 'With `email.backend = "log"` mail is only shown to developers, not sent.',
  },
  mailLimitReached: {
    status: 429,
    message: 'email send rate limit exceeded',
    help: 'The administration may send 1000 mails an hour; a user, with all sessions, keys and tokens together, `email.policy.send_rate_limit_per_key` in the window. Wait for the number of seconds in the `Retry-After` header.',
  },
  mailNotSent: {
    status: 500,
    message: 'failed to send email',
    help: 'The mail server or webhook refused the mail or could not be reached; `data.reason` says what it answered. Check `email.*` of the configuration.',
  },
} as const

export const mailErrors = defineErrors(mailErrorTable)
