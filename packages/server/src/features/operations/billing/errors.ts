import { defineErrors } from '../../../lib/errors.ts'

export const billingErrorTable = {
  billingNotEnabled: {
    status: 404,
    message: 'billing is not enabled',
    help: '`billing.provider` and `billing.webhook_secret` must both be set.',
  },
  invalidBillingEvent: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The event has the right signature, but not the form of an event of the provider; the message names what is missing.',
  },
  invalidBilledApp: {
    status: 400,
    message: 'invalid app id format',
    help: 'Ids of apps are UUIDs.',
  },
  billedAppNotFound: {
    status: 404,
    message: 'app not found',
    help: 'No app has this id; `GET /api/admin/apps` lists them.',
  },
} as const

export const billingErrors = defineErrors(billingErrorTable)
