import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it came over the wire. */
export interface EmbeddingRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly model: string; readonly input: readonly string[]; readonly dimensions?: number }
  /** Whether the client has disconnected before the answer. */
  isCanceled: boolean
}

export type AnswerEmbeddings = (response: ServerResponse, request: EmbeddingRequest) => void

/** A provider of embeddings on a port of its own, which keeps what it is asked. */
export interface EmbeddingProvider extends AsyncDisposable {
  readonly url: string
  readonly requests: EmbeddingRequest[]
  /** Every text that was asked for. */
  readonly texts: readonly string[]
  answer: AnswerEmbeddings
}

/** Answers with a vector for each text. */
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
    // In another order than asked: the index counts.
    response.end(JSON.stringify({ object: 'list', data: data.toReversed(), model: body.model }))
  }
}

export function status(code: number, headers: Record<string, string> = {}, body = ''): AnswerEmbeddings {
  return (response) => response.writeHead(code, headers).end(body)
}

/** Three dimensions: how often a, b and c occur. */
export function countLetters(text: string): readonly number[] {
  return ['a', 'b', 'c'].map((letter) => text.split(letter).length - 1)
}

export async function startEmbeddingProvider(
  answer: AnswerEmbeddings = embeddings(countLetters),
): Promise<EmbeddingProvider> {
  const requests: EmbeddingRequest[] = []
  const server = createServer((message, response) => {
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
  // A server that listens on a port has an address of this form.
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
