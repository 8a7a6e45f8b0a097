import { defineErrors } from '../../../lib/errors.ts'

export const billingErrorTable = {
  billingNotEnabled: {
    status: 404,
    message: 'billing is not enabled',
    help: 'Set both `billing.provider` and `billing.webhook_secret`.',
  },
  invalidBillingEvent: {
    status: 400,
    message: (problem: string) => problem,
    help: "The event has a valid signature, but not the form of a provider's event. The message names the missing part.",
  },
  invalidBilledApp: {
    status: 400,
    message: 'invalid app id format',
    help: 'App ids are UUIDs.',
  },
  billedAppNotFound: {
    status: 404,
    message: 'app not found',
    help: 'No app has this id. `GET /api/admin/apps` lists the apps.',
  },
} as const

export const billingErrors = defineErrors(billingErrorTable)
