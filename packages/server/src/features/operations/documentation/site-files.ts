import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants, gzip } from 'node:zlib'
import { type Coding, chooseCoding } from '../../../http/responses/content-coding.ts'
import { codeOf } from '../../../lib/errors.ts'
import { Lru } from '../../../lib/lru.ts'

/** Position and size of a block in `site.bin`, and 1 if it is compressed by Brotli. */
type Block = readonly [position: number, size: number, isCompressed: 0 | 1]

/** Block of a file, its offset and length in the uncompressed block, and its entity tag. */
type Entry = readonly [block: number, offset: number, length: number, tag: string]

/** Content of `site.json`. */
export interface SiteIndex {
  readonly version: string
  readonly blocks: readonly Block[]
  /** Files by their paths below `/docs`. A page has no extension. */
  readonly files: Readonly<Record<string, Entry>>
}

/** File of the site in the coding that a client accepts. */
export interface SiteFile {
  readonly path: string
  readonly type: string
  readonly etag: string
  /** True if the content never changes under this path. */
  readonly isImmutable: boolean
  read(acceptedCodings: string | undefined): Promise<{ content: Buffer; coding: Coding | undefined }>
}

export interface SiteFiles {
  /** Finds a file or page. @param path below `/docs`, without a slash at its ends */
  find(path: string): SiteFile | undefined
}

const contentTypes: Readonly<Record<string, string>> = {
  '': 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  json: 'application/json; charset=utf-8',
}

/** Page for addresses without a page. */
export const missingPage = '404'

/** Maximum number of files that stay in memory. A page takes up to 300 KB. */
const rememberedFiles = 32

/** Opens the site of the folder. Returns undefined if it is not built, or built for another version. */
export function openSiteFiles(folder: string, version: string): SiteFiles | undefined {
  const index = readIndex(join(folder, 'site.json'))
  if (index?.version !== version) return undefined
  const remembered = new Lru<string, Buffer>(rememberedFiles)
  const files = new Map(Object.entries(index.files))

  async function remember(key: string, create: () => Promise<Buffer>): Promise<Buffer> {
    const content = remembered.get(key) ?? (await create())
    remembered.set(key, content)
    return content
  }

  return {
    find(path) {
      const entry = files.get(path)
      if (entry === undefined) return undefined
      const [number, offset, length, tag] = entry
      const block = index.blocks[number]
      if (block === undefined) throw new Error(`docs-site: ${path} has no block`)
      const [, , isCompressed] = block
      const isPage = !path.includes('.')
      const extension = isPage ? '' : path.slice(path.lastIndexOf('.') + 1)
      const readBlock = () => readBytes(join(folder, 'site.bin'), block)
      const plain = () =>
        remember(path, async () => {
          const bytes = await readBlock()
          return (isCompressed ? await decompress(bytes) : bytes).subarray(offset, offset + length)
        })
      return {
        path,
        type: contentTypes[extension] ?? 'application/octet-stream',
        etag: `"${tag}"`,
        // The generator names these files by their content.
        isImmutable: /^_astro\/|^pagefind\/(fragment|index)\//.test(path),
        async read(acceptedCodings) {
          const coding = isCompressed ? chooseCoding(acceptedCodings, ['br', 'gzip']) : undefined
          if (coding === undefined) return { content: await plain(), coding }
          const content = await remember(`${path} ${coding}`, async () =>
            coding === 'br' && !isPage ? await readBlock() : await compress(await plain(), coding),
          )
          return { content, coding }
        },
      }
    },
  }
}

function readIndex(path: string): SiteIndex | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function readBytes(path: string, [position, size]: Block): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, position)
  if (bytesRead !== size) throw new Error(`${path} is shorter than site.json says`)
  return buffer
}

const decompress = promisify(brotliDecompress)

/** Compresses a page for a response: well enough at a small cost. */
function compress(content: Buffer, coding: Coding): Promise<Buffer> {
  return coding === 'br'
    ? promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    : promisify(gzip)(content)
}
