import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const region = 'eu-test-1'
const accessKey = 'AKIATEST'
const secretKey = 'secret-of-s3'

interface S3Answer {
  readonly status: number
  readonly body?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
  /** Number of bytes of the body after which the connection is cut. */
  readonly cutAfter?: number
  /** Number of bytes of the body after which the response stalls. */
  readonly stallAfter?: number
}

export interface S3Call {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface S3StandIn extends AsyncDisposable {
  readonly bucket: {
    readonly endpoint: string
    readonly name: string
    readonly region: string
    readonly accessKey: string
    readonly secretKey: string
  }
  readonly calls: S3Call[]
  readonly objects: Map<string, Buffer>
  readonly uploads: Map<
    string,
    { readonly name: string; readonly parts: Map<number, Buffer>; startedAt: Date }
  >
  /** Responds to a call instead of the stand-in; undefined lets the stand-in respond. */
  fault: (call: S3Call) => Partial<S3Answer> | 'hang up' | undefined
}

/**
 * Starts a server with the part of the protocol of Amazon S3 that Basalt uses, in memory. It recomputes signatures from
 * the bytes on the wire (AWS Signature Version 4), without the library that signs.
 */
export async function startS3(bucketName = 'files'): Promise<S3StandIn> {
  const objects: S3StandIn['objects'] = new Map()
  const uploads: S3StandIn['uploads'] = new Map()

  function answer({ method, path, query, headers, body }: S3Call): S3Answer {
    const [, bucket, ...rest] = path.split('/')
    if (bucket !== bucketName) return failure(404, 'NoSuchBucket')
    const name = rest.join('/')
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (query.has('uploadId') && upload === undefined) return failure(404, 'NoSuchUpload')
    if (name === '') return query.has('uploads') ? listUploads(query) : list(query)
    if (method === 'POST' && upload === undefined) return begin(name)
    if (upload !== undefined) return ofUpload(method, query, body, name, upload)
    if (method === 'PUT') objects.set(name, body)
    if (method === 'DELETE') objects.delete(name)
    if (method === 'GET') return read(objects.get(name), headers.range)
    return method === 'PUT' ? { status: 200, headers: { etag: `"${tagOf(body)}"` } } : { status: 204 }
  }

  function begin(name: string): S3Answer {
    const id = randomBytes(8).toString('hex')
    uploads.set(id, { name, parts: new Map(), startedAt: new Date() })
    return {
      status: 200,
      body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    }
  }

  function ofUpload(
    method: string,
    query: URLSearchParams,
    body: Buffer,
    name: string,
    { parts }: { readonly parts: Map<number, Buffer> },
  ): S3Answer {
    const id = query.get('uploadId') ?? ''
    if (method === 'PUT') {
      parts.set(Number(query.get('partNumber')), body)
      return { status: 200, headers: { etag: `"${tagOf(body)}"` } }
    }
    uploads.delete(id)
    if (method === 'DELETE') return { status: 204 }
    const named = [
      ...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;(\w+)&quot;<\/ETag>/g),
    ]
    const chosen = named.map(([, number, tag]) => ({
      part: parts.get(Number(number)) ?? Buffer.alloc(0),
      tag,
    }))
    if (chosen.length === 0 || chosen.some(({ part, tag }) => tagOf(part) !== tag))
      return failure(400, 'InvalidPart')
    // S3 rejects small parts by this rule.
    if (chosen.slice(0, -1).some(({ part }) => part.length < 5 * 1024 * 1024))
      return failure(400, 'EntityTooSmall')
    objects.set(name, Buffer.concat(chosen.map(({ part }) => part)))
    return { status: 200, body: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' }
  }

  /** Lists two objects a page, so that clients read further pages. */
  function list(query: URLSearchParams): S3Answer {
    const names = [...objects.keys()].filter((name) => name.startsWith(query.get('prefix') ?? '')).sort()
    const from = Number(query.get('continuation-token')?.slice(2) ?? 0)
    const items = names.slice(from, from + 2).map((name) => {
      const size = objects.get(name)?.length
      return `<Contents><Key>${name}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>${size}</Size></Contents>`
    })
    const next =
      from + 2 < names.length ? `<NextContinuationToken>&lt;&amp;${from + 2}</NextContinuationToken>` : ''
    return { status: 200, body: `<ListBucketResult>${items.join('')}${next}</ListBucketResult>` }
  }

  function listUploads(query: URLSearchParams): S3Answer {
    const ids = [...uploads.keys()].sort()
    const after = query.get('upload-id-marker')
    const from = after === null ? 0 : ids.filter((id) => id <= after).length
    const page = ids.slice(from, from + 2)
    const items = page.map((id) => {
      const upload = uploads.get(id)
      return `<Upload><Key>${upload?.name}</Key><UploadId>${id}</UploadId><Initiated>${upload?.startedAt.toISOString()}</Initiated></Upload>`
    })
    const isCut = from + 2 < ids.length
    const next = isCut
      ? `<NextKeyMarker>${uploads.get(page[1] ?? '')?.name}</NextKeyMarker><NextUploadIdMarker>${page[1]}</NextUploadIdMarker>`
      : ''
    return {
      status: 200,
      body: `<ListMultipartUploadsResult><IsTruncated>${isCut}</IsTruncated>${next}${items.join('')}</ListMultipartUploadsResult>`,
    }
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://stand-in')
    const { method = '', headers } = request
    const call = { method, path, query, headers, body: Buffer.concat(chunks) }
    standIn.calls.push(call)
    const fault = standIn.fault(call)
    if (fault === 'hang up') response.destroy()
    else
      send(response, { ...(isSigned(call) ? answer(call) : failure(403, 'SignatureDoesNotMatch')), ...fault })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const standIn: S3StandIn = {
    bucket: { endpoint: `http://127.0.0.1:${port}`, name: bucketName, region, accessKey, secretKey },
    calls: [],
    objects,
    uploads,
    fault: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
  return standIn
}

function read(bytes: Buffer | undefined, range: string | undefined): S3Answer {
  if (bytes === undefined) return failure(404, 'NoSuchKey')
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
  if (start === undefined) return { status: 200, body: bytes }
  return { status: 206, body: bytes.subarray(Number(start), end === '' ? undefined : Number(end) + 1) }
}

function failure(status: number, code: string): S3Answer {
  return { status, body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>` }
}

function send(
  response: ServerResponse,
  { status, body = '', headers = {}, cutAfter, stallAfter }: S3Answer,
): void {
  const bytes = Buffer.from(body)
  response.writeHead(
    status,
    status === 204 ? headers : { ...headers, 'content-length': String(bytes.length) },
  )
  if (stallAfter !== undefined) response.write(bytes.subarray(0, stallAfter))
  else if (cutAfter === undefined) response.end(bytes)
  else response.write(bytes.subarray(0, cutAfter), () => response.destroy())
}

function tagOf(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex')
}

function isSigned({ method, path, query, headers, body }: S3Call): boolean {
  const [, day, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/(\d{8})\/eu-test-1\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/.exec(
      headers.authorization ?? '',
    ) ?? []
  const checksum = createHash('sha256').update(body).digest('hex')
  if (day === undefined || headers['x-amz-content-sha256'] !== checksum) return false
  const encode = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  const search = [...query]
    .map(([key, value]) => `${encode(key)}=${encode(value)}`)
    .sort()
    .join('&')
  const signed = names
    .split(';')
    .map((name) => `${name}:${headers[name]}\n`)
    .join('')
  const canonical = [method, path, search, signed, names, checksum].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const digest = createHash('sha256').update(canonical).digest('hex')
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n')
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretKey}`)
  return hmac(key, toSign).toString('hex') === signature
}
