import { BinaryRows } from '../../../database/connection/binary-rows.ts'
import type { AnsweredRequest } from '../../../http/observation/request-observer.ts'
import { storable } from '../../../lib/storable-text.ts'

/** Maximum length of a stored path in characters. */
const longestPath = 2048

const columns = [
  ...['happened_at', 'method', 'path', 'operation', 'status', 'duration_ms', 'user_id', 'api_key_id'],
  ...['app_id', 'request_size', 'response_size', 'address', 'request_id', 'impersonated_by', 'node'],
]

/** Statement that inserts the rows. */
export const requestsCopy = `copy basalt.requests (${columns.join(', ')}) from stdin (format binary)`

/**
 * Completed requests in PostgreSQL's binary format. Each is encoded when it is added, because objects that
 * wait for the write would outlive the cheap garbage collections.
 */
export class RequestRows {
  readonly #node: string
  /** Rows for one statement, {@link requestsCopy}. */
  readonly encoded: BinaryRows

  /** @param node that served the requests */
  constructor(node: string, encoded = new BinaryRows(columns.length)) {
    this.#node = node
    this.encoded = encoded
  }

  get length(): number {
    return this.encoded.length
  }

  push(request: AnsweredRequest): void {
    this.encoded
      .row()
      .timestamptz(request.at)
      .text(request.method)
      .text(storable(request.path).slice(0, longestPath))
      .text(request.operation)
      .int4(request.status)
      .float4(request.durationMs)
      .text(request.userId)
      .uuid(request.keyId)
      .uuid(request.appId)
      .int8(request.bytesIn)
      .int8(request.bytesOut)
      .text(request.address)
      .text(request.requestId)
      .text(request.impersonator)
      .text(this.#node)
  }

  slice(start: number, end?: number): RequestRows {
    return new RequestRows(this.#node, this.encoded.slice(start, end))
  }

  clear(): void {
    this.encoded.clear()
  }
}
