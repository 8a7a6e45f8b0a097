import { defineErrors } from '../../../lib/errors.ts'

export const webhookErrorTable = {
  invalidWebhook: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A field of the webhook is missing or has the wrong form; the message names it.',
  },
  webhookTargetRefused: {
    status: 400,
    message: 'url: the address is not one that webhooks may be sent to',
    help: 'Link-local, metadata, unspecified, multicast and reserved addresses are always refused, private and loopback ones unless `webhooks.allow_private_targets` permits them.',
  },
  webhookNotFound: {
    status: 404,
    message: 'webhook not found',
    help: 'There is no webhook with this id; `GET /api/webhooks` lists them.',
  },
  webhookDisabled: {
    status: 409,
    message: 'the webhook is disabled',
    help: 'What is queued for a disabled webhook is not sent. Enable it first: `PATCH {"enabled": true}`.',
  },
  deliveryNotFound: {
    status: 404,
    message: 'delivery not found',
    help: 'The webhook has no delivery with this id, or it is older than `webhooks.retention_days`.',
  },
} as const

export const webhookErrors = defineErrors(webhookErrorTable)
