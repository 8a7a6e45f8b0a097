import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import type { SiteIndex } from '../../packages/server/src/features/operations/documentation/index.ts'

/** Uncompressed size at which a block of pages ends. A reader decompresses one block for a page. */
const blockBytes = 192 * 1024

/** Maximum size of the site in the package, in bytes. */
const siteLimitBytes = 3_000_000

const compressible = new Set(['.html', '.js', '.css', '.svg', '.json'])

/** Files of Pagefind for pages other than the generator's, which has its own. */
const unusedFiles = /^pagefind\/(pagefind-(component-ui|highlight|modular-ui|ui)\.|wasm\.unknown)/

/**
 * Packs the files of a built site into two files, as `features/operations/documentation` reads them.
 *
 * @returns the size in bytes
 * @throws if it is larger than the package admits
 */
export function packSite(built: string, target: string, version: string): number {
  const names = readdirSync(built, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(built, name)).isFile() && !unusedFiles.test(name))
    .sort()
  const files: Record<string, SiteIndex['files'][string]> = {}
  const blocks: SiteIndex['blocks'][number][] = []
  const parts: Buffer[] = []
  let position = 0
  let pages: Buffer[] = []
  let pagesBytes = 0

  function addBlock(content: Buffer, isCompressible: boolean): void {
    const compressed = isCompressible ? brotliCompressSync(content) : content
    const isCompressed = compressed.length < content.length
    const part = isCompressed ? compressed : content
    blocks.push([position, part.length, isCompressed ? 1 : 0])
    parts.push(part)
    position += part.length
  }
  function endPages(): void {
    if (pages.length > 0) addBlock(Buffer.concat(pages), true)
    pages = []
    pagesBytes = 0
  }

  for (const name of names.filter((each) => each.endsWith('.html'))) {
    const content = readFileSync(join(built, name))
    if (pagesBytes + content.length > blockBytes) endPages()
    const path = name.replace(/(^|\/)index\.html$|\.html$/, '')
    files[path] = [blocks.length, pagesBytes, content.length, tagOf(content)]
    pages.push(content)
    pagesBytes += content.length
  }
  endPages()
  for (const name of names.filter((each) => !each.endsWith('.html'))) {
    const content = readFileSync(join(built, name))
    files[name] = [blocks.length, 0, content.length, tagOf(content)]
    addBlock(content, compressible.has(extname(name)))
  }

  const index = JSON.stringify({ version, blocks, files } satisfies SiteIndex)
  const size = position + index.length
  if (size > siteLimitBytes) throw new Error(`the site takes ${size} bytes of at most ${siteLimitBytes}`)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'site.bin'), Buffer.concat(parts))
  // A server takes a folder with this file for a complete site.
  writeFileSync(join(target, 'site.json'), index)
  return size
}

function tagOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16)
}
