import { integer } from '../../../config/keys.ts'

/** `api`: the data API. */
export const collectionKeys = {
  bulk_max_rows: integer(1000, 'Records that one PATCH or DELETE by filter may change.', 1, 100_000),
}
