import { defineErrors } from '../../../lib/errors.ts'

export const idempotencyErrorTable = {
  invalidIdempotencyKey: {
    status: 400,
    message: 'Idempotency-Key must have 1 to 255 printable ASCII characters',
    help: 'The header names one write, by a UUID for instance.',
  },
  idempotencyKeyInUse: {
    status: 409,
    message: 'a request with this Idempotency-Key is still in flight',
    help: 'The first request with the key takes longer than a statement may wait. Send the same request again later, with the same key.',
  },
  idempotencyKeyReused: {
    status: 422,
    message: 'Idempotency-Key was used for a different request within the last 24 hours',
    help: 'A key names one request: method, address, body and assurance level. A different write needs a key of its own.',
  },
} as const

export const idempotencyErrors = defineErrors(idempotencyErrorTable)
