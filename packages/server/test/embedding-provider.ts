import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Request as received over the wire. */
export interface EmbeddingRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly model: string; readonly input: readonly string[]; readonly dimensions?: number }
  /** True if the client has disconnected before the response. */
  isCanceled: boolean
}

export type AnswerEmbeddings = (response: ServerResponse, request: EmbeddingRequest) => void

/** Provider of embeddings on a port of its own, which records its requests. */
export interface EmbeddingProvider extends AsyncDisposable {
  readonly url: string
  readonly requests: EmbeddingRequest[]
  /** All texts of the requests. */
  readonly texts: readonly string[]
  answer: AnswerEmbeddings
}

/** Responds with a vector for each text. */
export function embeddings(vectorOf: (text: string) => readonly number[]): AnswerEmbeddings {
  return (response, { body, path }) => {
    if (path !== '/v1/embeddings') {
      response.writeHead(404).end()
      return
    }
    const data = body.input.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: vectorOf(text),
    }))
    response.writeHead(200, { 'content-type': 'application/json' })
    // In reverse order, because the index counts.
    response.end(JSON.stringify({ object: 'list', data: data.toReversed(), model: body.model }))
  }
}

export function status(code: number, headers: Record<string, string> = {}, body = ''): AnswerEmbeddings {
  return (response) => response.writeHead(code, headers).end(body)
}

/** Counts a, b and c as three dimensions. */
export function countLetters(text: string): readonly number[] {
  return ['a', 'b', 'c'].map((letter) => text.split(letter).length - 1)
}

export async function startEmbeddingProvider(
  answer: AnswerEmbeddings = embeddings(countLetters),
): Promise<EmbeddingProvider> {
  const requests: EmbeddingRequest[] = []
  const server = createServer((message, response) => {
    // Clients of an earlier server on this port may still try to reconnect.
    if (message.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const { url: path = '', headers } = message
      const request = { path, headers, body: JSON.parse(Buffer.concat(chunks).toString()), isCanceled: false }
      response.on('close', () => {
        request.isCanceled = !response.writableFinished
      })
      requests.push(request)
      provider.answer(response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const provider: EmbeddingProvider = {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    get texts() {
      return requests.flatMap(({ body }) => body.input)
    },
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return provider
}
