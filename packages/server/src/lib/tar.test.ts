import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { readTar, type TarEntry, TarError, tarEnd, tarHeader, tarPadding } from './tar.ts'

const modifiedAt = new Date('2026-01-02T03:04:05Z')
const long = `postgres/${'directory/'.repeat(9)}${'f'.repeat(90)}`

function archive(files: readonly { path: string; content: string }[]): Buffer {
  const parts = files.flatMap(({ path, content }) => {
    const body = Buffer.from(content)
    const header = tarHeader({ path, kind: 'file', size: body.length }, modifiedAt)
    return [header, body, tarPadding(body.length)]
  })
  return Buffer.concat([
    tarHeader({ path: 'postgres', kind: 'directory', size: 0 }, modifiedAt),
    ...parts,
    tarEnd,
  ])
}

/** Cuts the bytes into pieces that are independent of blocks. */
async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function readAll(bytes: Buffer, length = 100): Promise<(TarEntry & { content: string })[]> {
  const entries: (TarEntry & { content: string })[] = []
  for await (const { body, ...entry } of readTar(inPieces(bytes, length))) {
    const parts: Buffer[] = []
    for await (const part of body) parts.push(part)
    entries.push({ ...entry, content: Buffer.concat(parts).toString() })
  }
  return entries
}

const files = [
  { path: 'postgres/PG_VERSION', content: '18\n' },
  { path: 'postgres/empty', content: '' },
  { path: long, content: 'x'.repeat(512) },
  { path: 'secrets/jwt_secret', content: 'y'.repeat(1000) },
]

describe('tar', () => {
  test.each([1, 100, 512, 100_000])('reads its own output, in pieces of %i bytes', async (length) => {
    const entries = await readAll(archive(files), length)
    expect(entries.map(({ path, kind, content }) => ({ path, kind, content }))).toEqual([
      { path: 'postgres', kind: 'directory', content: '' },
      ...files.map((file) => ({ ...file, kind: 'file' })),
    ])
  })

  test('writes archives that tar reads', () => {
    const listed = execFileSync('tar', ['-tf', '-'], { input: archive(files), encoding: 'utf8' })
    expect(listed.trim().split('\n')).toEqual(['postgres/', ...files.map(({ path }) => path)])
  })

  test('skips the body of an entry that is not read', async () => {
    const paths: string[] = []
    for await (const { path } of readTar(inPieces(archive(files), 100))) paths.push(path)
    expect(paths).toEqual(['postgres', ...files.map(({ path }) => path)])
  })

  test('keeps a size of 8 GiB and more', async () => {
    const size = 9 * 1024 ** 3
    const header = tarHeader({ path: 'big', kind: 'file', size }, modifiedAt)
    const { value } = await readTar(inPieces(header, 512)).next()
    expect(value).toMatchObject({ path: 'big', size })
  })

  test.each([
    ['ends early', (bytes: Buffer) => bytes.subarray(0, bytes.length - 600)],
    ['is empty', () => Buffer.alloc(0)],
    ['has a changed header', (bytes: Buffer) => Buffer.concat([Buffer.from('X'), bytes.subarray(1)])],
    ['is something else', () => Buffer.from('no archive '.repeat(100))],
  ])('rejects an archive that %s', async (_, damage) => {
    await expect(readAll(damage(archive(files)))).rejects.toThrow(TarError)
  })

  test('rejects links', async () => {
    const header = tarHeader({ path: 'link', kind: 'file', size: 0 }, modifiedAt)
    header.write('2', 156)
    // The sum grows by the difference of the digits.
    header.write(
      `${(Number.parseInt(header.toString('latin1', 148, 154), 8) + 2).toString(8).padStart(6, '0')}`,
      148,
    )
    await expect(readAll(Buffer.concat([header, tarEnd]))).rejects.toThrow('neither a file nor a directory')
  })
})
