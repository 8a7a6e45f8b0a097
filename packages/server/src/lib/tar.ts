/** Entry of an archive in the ustar interchange format (POSIX.1-2008, pax). */

export interface TarEntry {
  readonly path: string
  readonly kind: 'file' | 'directory'
  readonly size: number
}

/** Entry that is being read; its body has to be read before the next entry. */
export interface TarReading extends TarEntry {
  readonly body: AsyncIterable<Buffer>
}

/** Thrown when the data is no archive, or has an entry other than a file or directory. */
export class TarError extends Error {
  override readonly name = 'TarError'
}

const blockBytes = 512
/** End of an archive: two empty blocks. */
export const tarEnd = Buffer.alloc(2 * blockBytes)

/** Offset and length of the header fields. */
const field = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
  prefix: [345, 155],
} as const

/** Returns the header before an entry's body. */
export function tarHeader({ path, kind, size }: TarEntry, modifiedAt: Date): Buffer {
  const header = Buffer.alloc(blockBytes)
  const { name, prefix } = splitPath(kind === 'directory' ? `${path}/` : path)
  header.write(name, field.name[0])
  header.write(kind === 'directory' ? '0000700\0' : '0000600\0', field.mode[0])
  header.write('0000000\0', field.uid[0])
  header.write('0000000\0', field.gid[0])
  writeSize(header, size)
  header.write(`${octal(Math.floor(modifiedAt.getTime() / 1000), 11)}\0`, field.mtime[0])
  header.write(kind === 'directory' ? '5' : '0', field.type[0])
  header.write('ustar\x0000', field.magic[0])
  header.write(prefix, field.prefix[0])
  header.write(`${octal(checksumOf(header), 6)}\0 `, field.checksum[0])
  return header
}

/** Returns the padding of an entry's last block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes)
}

/**
 * Reads an archive with little memory, for entries of any size.
 *
 * @throws TarError when it is damaged or ends early
 */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarReading> {
  const source = new Source(chunks)
  try {
    for (;;) {
      const header = await source.take(blockBytes)
      if (header.every((byte) => byte === 0)) {
        // The rest may only be a failure of the archive's source.
        await source.drain()
        return
      }
      const entry = parseHeader(header)
      let left = entry.size
      const body = async function* () {
        while (left > 0) {
          const part = await source.takeSome(left)
          left -= part.length
          yield part
        }
      }
      yield { ...entry, body: body() }
      for await (const _ of body()) {
        // This skips the rest that the reader has not read.
      }
      await source.take(tarPadding(entry.size).length)
    }
  } finally {
    await source.close()
  }
}

function parseHeader(header: Buffer): TarEntry {
  const text = ([start, length]: readonly [number, number]) => {
    const [value = ''] = header.toString('utf8', start, start + length).split('\0')
    return value
  }
  const checksum = Number.parseInt(text(field.checksum), 8)
  if (checksum !== checksumOf(header)) throw new TarError('a header is damaged')
  const prefix = text(field.prefix)
  const path = (prefix === '' ? '' : `${prefix}/`) + text(field.name)
  const type = text(field.type)
  if (type === '5') return { path: path.replace(/\/$/, ''), kind: 'directory', size: 0 }
  if (type !== '0' && type !== '') throw new TarError(`${path} is neither a file nor a directory`)
  return { path, kind: 'file', size: readSize(header) }
}

/** Returns the sum of the header's bytes, with blanks for the sum itself. */
function checksumOf(header: Buffer): number {
  const [start, length] = field.checksum
  return header.reduce((sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte), 0)
}

/** Writes a size. Sizes of 8 GiB and more do not fit in octal digits: a set high bit marks a binary number. */
function writeSize(header: Buffer, size: number): void {
  const [start] = field.size
  if (size < 8 ** 11) {
    header.write(`${octal(size, 11)}\0`, start)
  } else {
    header[start] = 0x80
    header.writeBigUInt64BE(BigInt(size), start + 4)
  }
}

function readSize(header: Buffer): number {
  const [start, length] = field.size
  if (((header[start] ?? 0) & 0x80) !== 0) return Number(header.readBigUInt64BE(start + 4))
  const size = Number.parseInt(header.toString('latin1', start, start + length), 8)
  if (Number.isNaN(size)) throw new TarError('a header has no size')
  return size
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

/** Splits a path into a name of at most 100 bytes and directories of at most 155. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= field.name[1]) return { name: path, prefix: '' }
  for (let at = path.indexOf('/'); at > 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (Buffer.byteLength(name) <= field.name[1] && Buffer.byteLength(prefix) <= field.prefix[1]) {
      return { name, prefix }
    }
  }
  throw new TarError(`${path} is too long a name`)
}

/** Source that returns bytes on request. */
class Source {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Returns exactly so many bytes. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = count; left > 0; ) {
      const part = await this.takeSome(left)
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts)
  }

  /** Returns at least one byte, and at most so many. */
  async takeSome(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done === true) throw new TarError('the archive ends too early')
      this.#rest = value
    }
    const part = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  /** Reads to the end. */
  async drain(): Promise<void> {
    for (let { done } = await this.#chunks.next(); done !== true; ) ({ done } = await this.#chunks.next())
  }

  /** Closes the source of the bytes. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
