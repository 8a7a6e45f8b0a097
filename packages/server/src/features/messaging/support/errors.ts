import { defineErrors } from '../../../lib/errors.ts'

export const supportErrorTable = {
  supportNotEnabled: {
    status: 404,
    message: 'support is not enabled',
    help: 'Tickets are off: `support.enabled`.',
  },
  invalidSupportAuth: {
    status: 401,
    message: 'invalid support webhook auth',
    help: 'The gateway of mail must send `support.webhook_secret` as `X-Webhook-Secret`. Without the key no mail is accepted.',
  },
  invalidSupportForm: {
    status: 400,
    message: 'invalid multipart form',
    help: 'The body must be `multipart/form-data` as gateways of mail post it.',
  },
  missingSupportField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body or the field of the form is missing or empty.',
  },
  invalidSupportField: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body or a field of the form has a value that it cannot take; the message names it.',
  },
  supportDomainMismatch: {
    status: 400,
    message: 'inbound email domain mismatch',
    help: 'None of the addresses in `to` is of the domain `support.inbound_email_domain`.',
  },
  supportSenderMismatch: {
    status: 403,
    message: 'support sender mismatch',
    help: 'A mail lands in a ticket only when its sender is the user of the ticket, by the address in `From`, the address in `envelope`, and, where the gateway has checked them, SPF or DKIM.',
  },
  invalidTicketId: {
    status: 400,
    message: 'invalid ticket id format',
    help: 'Ids of tickets are UUIDs.',
  },
  ticketNotFound: {
    status: 404,
    message: 'ticket not found',
    help: 'There is no ticket of this id, or it is of another user. Closed tickets are removed after `support.retention_days`.',
  },
  attachmentNotFound: {
    status: 404,
    message: 'attachment not found',
    help: 'The message has no such attachment, or it was not kept: attachments of one ticket take at most 25 MiB. Places count from 0.',
  },
  supportLimitReached: {
    status: 429,
    message: 'too many support messages',
    help: 'The limit of the hour is used up: `support.messages_per_hour`. Wait for the number of seconds in the `Retry-After` header.',
  },
} as const

export const supportErrors = defineErrors(supportErrorTable)
