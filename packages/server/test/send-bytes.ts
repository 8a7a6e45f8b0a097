import { type IncomingHttpHeaders, request } from 'node:http'

/** Response with its bytes as they were sent. */
export interface ByteResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Sends a request with exactly these headers, and returns the response without decoding it. */
export function sendBytes(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: string | Buffer,
): Promise<ByteResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const { statusCode: status = 0, headers } = incoming
        resolve({ status, headers, body: Buffer.concat(chunks) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
