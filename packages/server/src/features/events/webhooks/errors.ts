import { defineErrors } from '../../../lib/errors.ts'

export const webhookErrorTable = {
  invalidWebhook: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A field of the webhook is missing or malformed. The message names it.',
  },
  webhookTargetRefused: {
    status: 400,
    message: 'url: the address is not one that webhooks may be sent to',
    help: 'Webhooks cannot go to link-local, metadata, unspecified, multicast and reserved addresses. Private and loopback addresses are allowed only with `webhooks.allow_private_targets`.',
  },
  webhookNotFound: {
    status: 404,
    message: 'webhook not found',
    help: 'No webhook has this id. `GET /api/webhooks` lists all webhooks.',
  },
  webhookOfFunction: {
    status: 409,
    message: 'a function gets these events',
    help: 'Change the function and deploy it, or remove it from the folder `functions`. Its events can be delivered again by `POST /api/webhooks/{id}/replays`.',
  },
  webhookDisabled: {
    status: 409,
    message: 'the webhook is disabled',
    help: 'Queued events of a disabled webhook are not sent. Enable it first: `PATCH {"enabled": true}`.',
  },
  deliveryNotFound: {
    status: 404,
    message: 'delivery not found',
    help: 'The webhook has no delivery with this id, or it is older than `webhooks.retention_days`.',
  },
} as const

export const webhookErrors = defineErrors(webhookErrorTable)
