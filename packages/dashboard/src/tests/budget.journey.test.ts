import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { journeys } from './journey.ts'

const builds = join(import.meta.dirname, '..', '..', 'dist')
const shellBytes = 95_000
const laterBytes = 150_000
const graphiqlBytes = 400_000

/** Entry of the Vite manifest: a file, and the files that it loads at once and later. */
interface Entry {
  readonly file: string
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
  readonly css?: readonly string[]
}

journeys('dashboard › size', () => {
  const folder = () => join(builds, readFileSync(join(builds, 'current'), 'utf8').trim())
  /** Returns the Brotli size of a file, as browsers receive it. */
  const sizeOf = (file: string) => statSync(join(folder(), `${file}.br`)).size

  /** Lists the files that a page loads. */
  const filesOf = (page: 'index' | 'graphiql', isWithLater: boolean): ReadonlySet<string> => {
    const path = join(folder(), '.vite', `${page}.json`)
    const manifest: Record<string, Entry> = JSON.parse(readFileSync(path, 'utf8'))
    const files = new Set<string>()
    const add = (name: string) => {
      const { file, css = [], imports = [], dynamicImports = [] } = manifest[name] ?? { file: '' }
      if (files.has(file)) return
      for (const each of [file, ...css]) files.add(each)
      for (const each of isWithLater ? [...imports, ...dynamicImports] : imports) add(each)
    }
    add(`${page}.html`)
    return files
  }
  const sumOf = (files: ReadonlySet<string>) =>
    [...files].map((file) => sizeOf(file)).reduce((sum, size) => sum + size, 0)

  test('keeps the shell and each lazily loaded file within its size budget', () => {
    const shell = filesOf('index', false)
    expect(sumOf(shell)).toBeLessThanOrEqual(shellBytes)
    const later = [...filesOf('index', true)].filter((file) => !shell.has(file))
    expect(later.filter((file) => sizeOf(file) > laterBytes)).toEqual([])
    expect([shell.size, later.length].every((count) => count > 1)).toBe(true)
  })

  test('keeps GraphiQL within its size budget, without eval, and out of the dashboard', () => {
    const files = filesOf('graphiql', true)
    expect(sumOf(files)).toBeLessThanOrEqual(graphiqlBytes)
    const text = (file: string) => readFileSync(join(folder(), file), 'utf8')
    const scripts = [...files].filter((file) => file.endsWith('.js'))
    expect(scripts.filter((file) => /\bnew Function\(|[^.\w]eval\(/.test(text(file)))).toEqual([])
    const ofDashboard = filesOf('index', true)
    expect([...files].filter((file) => ofDashboard.has(file))).toEqual([])
  })

  test('lists every built file in one of its pages', () => {
    const listed = new Set([...filesOf('index', true), ...filesOf('graphiql', true)])
    const built = readdirSync(join(folder(), 'assets')).filter((name) => /\.(js|css)$/.test(name))
    expect(built.filter((name) => !listed.has(`assets/${name}`))).toEqual([])
  })
})
