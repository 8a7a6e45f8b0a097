import { defineErrors } from '../../../lib/errors.ts'

export const secretErrorTable = {
  invalidSecretName: {
    status: 400,
    message: 'invalid secret name; expected 1 to 100 letters, digits and underscores, with no digit first',
    help: 'Functions read a secret as `ctx.secrets.NAME`. Choose a name such as `STRIPE_KEY`.',
  },
  missingSecretValue: {
    status: 400,
    message: 'value is required',
    help: 'Send the secret as the text `value`.',
  },
  invalidSecretValue: {
    status: 400,
    message: 'invalid value; expected a text of 8 to 32,768 characters of well-formed Unicode without NUL',
    help: 'A shorter value cannot be replaced in logs without replacing other texts. Store settings that are not secret in a table.',
  },
  tooManySecrets: {
    status: 409,
    message: (limit: number) => `there are ${limit} secrets already`,
    help: 'Remove a secret that nothing uses.',
  },
  secretNotFound: {
    status: 404,
    message: 'secret not found',
    help: 'No secret has this name.',
  },
} as const

export const secretErrors = defineErrors(secretErrorTable)
