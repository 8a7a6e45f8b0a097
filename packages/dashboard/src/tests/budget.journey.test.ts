import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { journeys } from './journey.ts'

const builds = join(import.meta.dirname, '..', '..', 'dist')
const shellBytes = 90_000
const laterBytes = 150_000

/** Entry of the Vite manifest: a file and the files that it always loads. */
interface Entry {
  readonly file: string
  readonly isEntry?: boolean
  readonly imports?: readonly string[]
  readonly css?: readonly string[]
}

journeys('dashboard › size', () => {
  const folder = () => join(builds, readFileSync(join(builds, 'current'), 'utf8').trim())
  /** Returns the Brotli size of a file, as browsers receive it. */
  const sizeOf = (file: string) => statSync(join(folder(), `${file}.br`)).size

  test('keeps the shell and each lazily loaded file within its size budget', () => {
    const manifest: Record<string, Entry> = JSON.parse(
      readFileSync(join(folder(), '.vite', 'manifest.json'), 'utf8'),
    )
    const filesOf = (name: string): string[] => {
      const { file, css = [], imports = [] } = manifest[name] ?? { file: '' }
      return [file, ...css, ...imports.flatMap(filesOf)]
    }
    const entries = Object.keys(manifest).filter((name) => manifest[name]?.isEntry)
    const shell = new Set(entries.flatMap(filesOf))
    const sizes = [...shell].map((file) => sizeOf(file))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(shellBytes)
    const later = readdirSync(join(folder(), 'assets'))
      .filter((name) => /\.(js|css)$/.test(name) && !shell.has(`assets/${name}`))
      .map((name) => ({ name, size: sizeOf(join('assets', name)) }))
    expect(later.filter(({ size }) => size > laterBytes)).toEqual([])
    expect([shell.size, later.length].every((count) => count > 1)).toBe(true)
  })
})
