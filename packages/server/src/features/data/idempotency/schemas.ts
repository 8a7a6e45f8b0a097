import { Type } from '../../../lib/type.ts'

/** Header of every write of the data API. */
export const idempotencyHeaders = {
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Identifies this write. The same request with the same key within 24 hours makes no second write and gets the ' +
        'first response, with `Idempotency-Replayed: true`. A different request with the key is a 422.',
    }),
  ),
}
