import { Type } from '../../../lib/type.ts'

/** The header of every write of the data API. */
export const idempotencyHeaders = {
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Names this write. The same request with the same key within 24 hours makes no second write and gets the ' +
        'first answer, with `Idempotency-Replayed: true`; another request with it is 422.',
    }),
  ),
}
