import type { StorageAction, StorageReply } from './wire.ts'

/** Maximum number of bytes that an upload sends to the server. */
const maxBytes = 10 * 1024 * 1024
/** Number of characters of a name that the server gets to see. It refuses names of more than 1,024 bytes. */
const sentName = 2000

type Options = Readonly<Record<string, unknown>>
type Send = (action: StorageAction) => Promise<StorageReply>

/** Returns `ctx.storage` of one identity. @param send sends a request to the server */
export function createStorage(send: Send) {
  // The contents of several files are not in the memory of the server at once, and the text of one exists only while it is sent.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (request: () => Promise<StorageReply>): Promise<StorageReply> => {
    const sent = last.then(request)
    last = sent.catch(() => undefined)
    return sent
  }
  return {
    bucket(given: unknown) {
      const bucket = readText(given, 'bucket')
      const request = async (action: StorageAction['action'], name: unknown, options: Options) => {
        const { signal: _, ...sent } = options
        return await send({ action, bucket, name: readName(name), options: JSON.stringify(sent) })
      }
      const sign = async (action: 'sign' | 'signUpload', name: unknown, options: Options) => {
        const { expiresIn, ...rest } = options
        const { url } = parse<{ url: string }>(await request(action, name, { expiresIn }))
        const query = Object.entries(rest).filter(([, value]) => value !== undefined)
        return `${url}${query.map(([key, value]) => `&${key}=${encodeURIComponent(String(value))}`).join('')}`
      }
      const relocate = async (action: 'move' | 'copy', name: unknown, to: unknown, options: Options) =>
        parse(await request(action, name, { to: readName(to), toBucket: options.bucket }))
      return {
        async upload(name: unknown, content: unknown, options: Options = {}) {
          const { bytes, type } = await readContent(content)
          if (bytes.length > maxBytes) throw tooLarge()
          const { contentType = type, ifMatch, ifNoneMatch } = options
          const given = JSON.stringify({ contentType, ifMatch, ifNoneMatch })
          const action = { action: 'upload', bucket, name: readName(name), options: given } as const
          return parse(await inTurn(() => send({ ...action, content: bytes.toString('base64') })))
        },
        async download(name: unknown, { range }: Options = {}) {
          const reply = await inTurn(() => request('download', name, { range }))
          const { status, headers } = parse<{ status: number; headers: Record<string, string> }>(reply)
          return new Response(Buffer.from(reply.content ?? '', 'base64'), { status, headers })
        },
        async list({ skipTotal, ...options }: Options = {}) {
          const given = { ...options, ...(skipTotal === undefined ? {} : { skipTotal: String(skipTotal) }) }
          return parse(await request('list', '', given))
        },
        async delete(name: unknown, { ifMatch }: Options = {}) {
          await request('delete', name, { ifMatch })
        },
        sign: (name: unknown, options: Options = {}) => sign('sign', name, options),
        signUpload: (name: unknown, { expiresIn }: Options = {}) => sign('signUpload', name, { expiresIn }),
        async revoke(name: unknown) {
          await request('revoke', name, {})
        },
        move: (name: unknown, to: unknown, options: Options = {}) => relocate('move', name, to, options),
        copy: (name: unknown, to: unknown, options: Options = {}) => relocate('copy', name, to, options),
      }
    },
  }
}

function parse<Value>({ body }: StorageReply): Value {
  return JSON.parse(body) as Value
}

function readText(value: unknown, member: string): string {
  if (typeof value !== 'string') throw new TypeError(`${member}: expected a text`)
  return value
}

function readName(value: unknown): string {
  return readText(value, 'name').slice(0, sentName)
}

/** Returns bytes, and the media type of a `Blob`. @throws TypeError */
async function readContent(content: unknown): Promise<{ bytes: Buffer; type?: string | undefined }> {
  if (typeof content === 'string') return { bytes: Buffer.from(content) }
  if (ArrayBuffer.isView(content))
    return { bytes: Buffer.from(content.buffer, content.byteOffset, content.byteLength) }
  if (content instanceof ArrayBuffer) return { bytes: Buffer.from(content) }
  if (content instanceof Blob) {
    if (content.size > maxBytes) throw tooLarge()
    return { bytes: Buffer.from(await content.arrayBuffer()), type: content.type || undefined }
  }
  throw new TypeError('content is a Blob, an ArrayBuffer, a view of one, or a text')
}

/** Returns the error of the files API for a file that exceeds its limit. */
function tooLarge(): Error {
  const members = { name: 'BasaltError', status: 413, error: 'file_too_large' }
  return Object.assign(new Error(`file too large: at most ${maxBytes} bytes`), members)
}
