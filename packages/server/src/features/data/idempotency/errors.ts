import { defineErrors } from '../../../lib/errors.ts'

export const idempotencyErrorTable = {
  invalidIdempotencyKey: {
    status: 400,
    message: 'Idempotency-Key must have 1 to 255 printable ASCII characters',
    help: 'The header identifies one write, for example by a UUID.',
  },
  idempotencyKeyInUse: {
    status: 409,
    message: 'a request with this Idempotency-Key is still in flight',
    help: 'The first request with the key takes longer than the statement timeout. Send the same request again later, with the same key.',
  },
  idempotencyKeyReused: {
    status: 422,
    message: 'Idempotency-Key was used for a different request within the last 24 hours',
    help: 'A key identifies one request: method, address, body and assurance level. Use another key for a different write.',
  },
} as const

export const idempotencyErrors = defineErrors(idempotencyErrorTable)
