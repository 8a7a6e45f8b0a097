import { defineErrors } from '../../../lib/errors.ts'

export const mailErrorTable = {
  invalidTemplateKey: {
    status: 400,
    message: (key: string) => `invalid template key format: "${key}"`,
    help: 'A key is at least two lower-case words joined by dots, such as `shop.order_shipped`, at most 255 characters. Words begin with a letter and contain letters and digits, after the first dot also underscores.',
  },
  missingTemplateField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'This member of the body is missing or empty.',
  },
  templateTooLarge: {
    status: 400,
    message: (problem: string) => `template exceeds size limit: ${problem}`,
    help: 'A subject may have 1000 characters, an HTML part 256000 characters and 10000 tags, and the whole request 2 MiB.',
  },
  templateParseError: {
    status: 400,
    message: (problem: string) => `template parse error: ${problem}`,
    help: 'Write placeholders as `{{.Name}}`, in text or in attribute values. Other text between double braces is rejected.',
  },
  templateRenderError: {
    status: 400,
    message: (problem: string) => `template render error: ${problem}`,
    help: 'A placeholder has no value among `variables`, or its value is not allowed at its position. The message names it.',
  },
  invalidRecipient: {
    status: 400,
    message: 'invalid email address',
    help: '`to` is one address without a name, such as `alice@example.com`.',
  },
  templateNotFound: {
    status: 404,
    message: 'template not found',
    help: 'The key has neither a built-in nor an enabled custom template. Only custom templates can be changed or deleted.',
  },
  templateChanged: {
    status: 409,
    message: 'the template was changed since it was read',
    help: '`replaces` is not the current template. Read the template again, and save the merged version.',
  },
  mailSenderNotPermitted: {
    status: 403,
    message: 'email sending is not permitted',
    help: '`email.policy.senders` names the allowed senders. Anonymous users may never send, and programs need the action `email:send`.',
  },
  systemTemplateNotPermitted: {
    status: 403,
    message: 'templates of the system are not sent by users',
    help: 'Only the system and administrators send templates whose key begins with `auth.`.',
  },
  fromAddressNotAllowed: {
    status: 403,
    message: 'from address not allowed',
    help: '`from` may be the address of `email.from` or one of `email.policy.allowed_from_addresses`.',
  },
  invalidMailField: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body has an invalid value. The message names the member.',
  },
  tooManyRecipients: {
    status: 400,
    message: (most: number) => `too many recipients: at most ${most}`,
    help: '`email.policy.max_recipients_per_request` limits a request.',
  },
  mailNotConfigured: {
    status: 501,
    message: 'email sending is not configured',
    help: 'With `email.backend = "log"` mail is only shown to developers, not sent.',
  },
  mailLimitReached: {
    status: 429,
    message: 'email send rate limit exceeded',
    help: 'Administrators may send 1000 mails an hour. A user may send `email.policy.send_rate_limit_per_key` mails in the window, over all sessions, keys and tokens. Wait for the number of seconds in the `Retry-After` header.',
  },
  mailNotSent: {
    status: 500,
    message: 'failed to send email',
    help: 'The mail server or webhook refused the mail or was unreachable. `data.reason` has its response. Check `email.*` in the configuration.',
  },
} as const

export const mailErrors = defineErrors(mailErrorTable)
