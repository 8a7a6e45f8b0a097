import { createHash } from 'node:crypto'
import { tarEnd, tarHeader, tarPadding } from '../src/lib/tar.ts'

/** Returns the entry of a manifest for a file with this content. */
export function functionFile(content: string | Buffer, path = 'functions/index.ts') {
  const bytes = Buffer.from(content)
  return { path, sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
}

/** Makes the archive in which contents of functions are sent. */
export function functionArchive(contents: readonly (string | Buffer)[]): Buffer {
  const entries = contents.flatMap((content, index) => {
    const bytes = Buffer.from(content)
    const header = tarHeader({ path: String(index), kind: 'file', size: bytes.length }, new Date(0))
    return [header, bytes, tarPadding(bytes.length)]
  })
  return Buffer.concat([...entries, tarEnd])
}
