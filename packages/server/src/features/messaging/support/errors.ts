import { defineErrors } from '../../../lib/errors.ts'

export const supportErrorTable = {
  supportNotEnabled: {
    status: 404,
    message: 'support is not enabled',
    help: 'Set `support.enabled` to enable tickets.',
  },
  invalidSupportAuth: {
    status: 401,
    message: 'invalid support webhook auth',
    help: 'The mail gateway must send `support.webhook_secret` as `X-Webhook-Secret`. Without the key no mail is accepted.',
  },
  invalidSupportForm: {
    status: 400,
    message: 'invalid multipart form',
    help: 'Send `multipart/form-data`, as mail gateways post it.',
  },
  missingSupportField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'This member of the body or field of the form is missing or empty.',
  },
  invalidSupportField: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body or a field of the form has an invalid value. The message names it.',
  },
  supportDomainMismatch: {
    status: 400,
    message: 'inbound email domain mismatch',
    help: 'None of the addresses in `to` has the domain `support.inbound_email_domain`.',
  },
  supportSenderMismatch: {
    status: 403,
    message: 'support sender mismatch',
    help: "A ticket accepts mail only from its user. The address in `From`, the address in `envelope`, and the gateway's SPF and DKIM results, if there are any, must prove it.",
  },
  invalidTicketId: {
    status: 400,
    message: 'invalid ticket id format',
    help: 'Ticket ids are UUIDs.',
  },
  ticketNotFound: {
    status: 404,
    message: 'ticket not found',
    help: 'No ticket has this id, or it belongs to another user. Closed tickets are deleted after `support.retention_days`.',
  },
  attachmentNotFound: {
    status: 404,
    message: 'attachment not found',
    help: 'The message has no such attachment, or its content was not stored. The attachments of one ticket may have 25 MiB. Positions count from 0.',
  },
  supportLimitReached: {
    status: 429,
    message: 'too many support messages',
    help: 'The hourly limit `support.messages_per_hour` is used up. Wait for the number of seconds in the `Retry-After` header.',
  },
} as const

export const supportErrors = defineErrors(supportErrorTable)
