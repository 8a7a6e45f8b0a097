import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDirectory } from '../../../server/test/server-process.ts'

const root = join(import.meta.dirname, '../../../..')
const directory = createDirectory()
const consumer = join(directory.path, 'consumer')
const installed = join(consumer, 'node_modules', '@basaltdb', 'client')

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  expect(status, `${program} ${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

const packages = ['@basaltdb/client', '@basaltdb/react', 'create-basaltdb']
const pathOfTarball = (name: string) =>
  join(directory.path, `${name.replace('@', '').replace('/', '-')}-0.1.0.tgz`)

// The tarball is installed without scripts in an empty folder, as a user installs it.
beforeAll(() => {
  const workspaces = packages.flatMap((name) => ['--workspace', name])
  run('npm', ['pack', ...workspaces, '--pack-destination', directory.path], root)
  const tarball = 'basaltdb-client-0.1.0.tgz'
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }')
  run(
    'npm',
    ['install', '--ignore-scripts', '--offline', '--no-audit', '--no-fund', join(directory.path, tarball)],
    consumer,
  )
})
afterAll(() => directory[Symbol.asyncDispose]())

interface Manifest {
  readonly dependencies?: object
  readonly sideEffects: boolean
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}

const readManifest = () => JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest

/** Returns a module and all modules that it imports. */
function modulesOf(path: string, known = new Set<string>()): ReadonlySet<string> {
  if (known.has(path)) return known
  known.add(path)
  for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)[^'"]*from '([^']+)'/gm,
  )) {
    expect(target, `an import of ${path}`).toMatch(/^\.{1,2}\/.*\.js$/)
    modulesOf(join(dirname(path), target), known)
  }
  return known
}

/** Returns the compressed size of a module without comments and indentation, as any bundler sends it. */
function sizeOf(entry: string): number {
  const source = [...modulesOf(join(installed, entry))].map((path) => readFileSync(path, 'utf8')).join('\n')
  const bare = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '').replaceAll(/^\s+/gm, '')
  return brotliCompressSync(bare).length
}

describe('packed packages', () => {
  test.each(packages)('%s › passes publint', async (name) => {
    const { buffer, byteOffset, length } = readFileSync(pathOfTarball(name))
    const tarball = buffer.slice(byteOffset, byteOffset + length)
    expect((await publint({ pack: { tarball } })).messages).toEqual([])
  })

  // The packages are ES modules only, and old resolvers do not read the exports of package.json.
  const byDesign = ['CJSResolvesToESM', 'NoResolution node10']
  // The check runs in another process, because the package has sources for the conditions that tests run under.
  const checkTypes = `
    import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
    import { readFileSync } from 'node:fs'
    const tarball = new Uint8Array(readFileSync(process.argv[1]))
    const { problems } = await checkPackage(createPackageFromTarballData(tarball))
    console.log(JSON.stringify(problems.map(({ kind, resolutionKind }) => kind === 'NoResolution' ? kind + ' ' + resolutionKind : kind)))`

  test.each(packages.slice(0, 2))('%s › declares the types of its modules', (name) => {
    const printed = run(
      process.execPath,
      ['--input-type=module', '--eval', checkTypes, pathOfTarball(name)],
      root,
    )
    const found = JSON.parse(printed) as string[]
    expect(found.filter((kind) => !byDesign.includes(kind))).toEqual([])
  })
})

describe('packed client', () => {
  test('has no dependencies, and each export has a module and declarations', () => {
    const manifest = readManifest()
    expect([manifest.dependencies, manifest.sideEffects]).toEqual([undefined, false])
    for (const [name, target] of Object.entries(manifest.exports)) {
      if (typeof target === 'string') continue
      for (const path of [target.types, target.default]) readFileSync(join(installed, path))
      const declarations = readFileSync(join(installed, target.types), 'utf8')
      expect(declarations, name).not.toMatch(/from '[^']*\.ts'|@internal/)
    }
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    expect(files.filter((name) => /(?<!\.d)\.ts$|test/.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE']))
    expect(readdirSync(join(consumer, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@basaltdb',
    ])
  })

  test('has at most 9 kB each for the core and realtime, 10 kB for accounts and 8 kB for files', () => {
    expect(sizeOf('dist/index.js')).toBeLessThanOrEqual(9216)
    expect(sizeOf('dist/auth/index.js')).toBeLessThanOrEqual(10_240)
    expect(sizeOf('dist/realtime/index.js')).toBeLessThanOrEqual(9216)
    expect(sizeOf('dist/files/index.js')).toBeLessThanOrEqual(8192)
  })

  test('runs without other packages', () => {
    const script = `
      import { createClient, where } from '@basaltdb/client'
      import { createAuth, memorySession } from '@basaltdb/client/auth'
      import { files } from '@basaltdb/client/files'
      import { live, subscribe } from '@basaltdb/client/realtime'
      const fetch = async (url, init) => new Response(JSON.stringify({ items: [url, init.headers.authorization] }))
      const client = createClient({ url: 'http://localhost', auth: 'secret', fetch })
      const { items } = await client.from('task').list({ filter: where\`id = \${1}\` })
      console.log(JSON.stringify([items, typeof createAuth({ url: '' }).signIn, memorySession().load(), typeof live, typeof subscribe, files(client).bucket('a').url('b c')]))`
    writeFileSync(join(consumer, 'run.js'), script)
    expect(JSON.parse(run(process.execPath, ['run.js'], consumer))).toEqual([
      ['http://localhost/api/collections/task?filter=id+%3D+1', 'Bearer secret'],
      'function',
      null,
      'function',
      'function',
      'http://localhost/api/storage/a/b%20c',
    ])
  })
})

/** Compiles files without errors and returns the output of the compiler. */
function compile(files: readonly string[], ...more: readonly string[]): string {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const target = ['--target', 'es2022', '--lib', 'es2022,dom,dom.iterable', '--module', 'nodenext']
  const options = ['--noEmit', '--strict', '--types', '', '--ignoreConfig', '--checkers', '1']
  return run(process.execPath, [compiler, ...options, ...target, ...more, ...files], consumer)
}

describe('types of the packed client', () => {
  test('compile the code of its guide and its README', () => {
    const fixture = readFileSync(join(import.meta.dirname, 'guide-database.ts'), 'utf8')
    writeFileSync(join(consumer, 'database.ts'), fixture)
    const blocks = readFileSync(join(root, 'docs/guides/client.md'), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)
    writeFileSync(join(consumer, 'guide.ts'), [...blocks].map(([, code]) => code).join('\n'))
    const [, readme = ''] =
      /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(installed, 'README.md'), 'utf8')) ?? []
    writeFileSync(join(consumer, 'readme.ts'), readme)
    expect(compile(['guide.ts', 'readme.ts'])).toBe('')
  })

  test('accept undefined for every option under exactOptionalPropertyTypes', () => {
    writeFileSync(
      join(consumer, 'options.ts'),
      `import { createClient } from '@basaltdb/client'
      import { cookieSession, createAuth } from '@basaltdb/client/auth'
      import { follow, joinChannel, live, subscribe } from '@basaltdb/client/realtime'
      const client = createClient({ url: '', auth: undefined, fetch: undefined, timeoutMs: undefined })
      const cookies = { get: () => undefined, set() {} }
      cookieSession(cookies, { name: undefined, secure: undefined, maxAgeSeconds: undefined })
      createAuth({ url: '', storage: undefined, now: undefined })
      const tasks = client.from('task')
      tasks.list({ filter: undefined, sort: undefined, fields: undefined, cursor: undefined }, { signal: undefined })
      tasks.upsert({}, { on: ['id'], action: undefined }, { idempotencyKey: undefined })
      client.batch((batch) => [batch.upsert('task', {}, { on: ['id'], action: undefined })])
      live(client, 'task', { also: undefined, search: undefined })
      const ended = { onConnected: undefined, onDisconnected: undefined }
      subscribe(client, ['task'], { onChange() {}, onFailed: undefined, ...ended })
      joinChannel(client, 'room:1', { onBroadcast: undefined, onPresence: undefined, ...ended })
      const { signal } = new AbortController()
      follow(client, { tables: ['task'], filter: undefined, lastEventId: undefined, onEvent() {}, signal })`,
    )
    expect(compile(['options.ts'], '--exactOptionalPropertyTypes')).toBe('')
  })

  const tables = 200
  const name = (index: number) => `table_${index % tables}`

  /** Prints the types of tables in a ring, each with relations to the next table and back. */
  function printDatabase(): string {
    const printed = Array.from({ length: tables }, (_, index) => {
      const columns = Array.from({ length: 20 }, (_each, column) => `column_${column}: string | null`)
      return `${name(index)}: {
        Row: { id: number; ${columns.join('; ')} }
        Insert: { id?: number; ${columns.join('; ')} }
        Update: { id?: number }
        Key: [number]
        Relations: {
          next: { table: '${name(index + 1)}'; many: false }
          before: { table: '${name(index + tables - 1)}'; many: true }
        }
      }`
    })
    return `export interface Database {\ntables: {\n${printed.join('\n')}\n}\nprocedures: {}\n}\n`
  }

  test('stay cheap with 200 tables and 200 lists with relations four levels deep', () => {
    const lists = Array.from({ length: tables }, (_, index) => {
      const expand = '{ next: { next: { before: { next: true } } } }'
      return `export const list_${index} = async () => {
        const { items } = await client.from('${name(index)}').list({ fields: ['id', 'column_1'], filter: { column_2: 'x' }, expand: ${expand} })
        const deep: string | null | undefined = items[0]?.expand.next?.expand.next?.expand.before?.[0]?.expand.next?.column_3
        return deep
      }`
    })
    writeFileSync(join(consumer, 'database.ts'), printDatabase())
    writeFileSync(
      join(consumer, 'lists.ts'),
      `import { createClient } from '@basaltdb/client'
      import type { Database } from './database.js'
      const client = createClient<Database>({ url: '' })
      ${lists.join('\n')}`,
    )
    const report = compile(['lists.ts'], '--extendedDiagnostics')
    const instantiations = Number(/Instantiations:\s+(\d+)/.exec(report)?.[1])
    expect(instantiations).toBeGreaterThan(0)
    expect(instantiations).toBeLessThanOrEqual(instantiationLimit)
  })
})

/**
 * Limit of type instantiations, a third above the measured number. A type that multiplies with tables or levels takes many
 * times as many.
 */
const instantiationLimit = 260_000

describe('packed hooks', () => {
  const hooks = join(consumer, 'node_modules', '@basaltdb', 'react')

  beforeAll(() => {
    mkdirSync(hooks)
    run('tar', ['-xzf', pathOfTarball('@basaltdb/react'), '--strip-components=1', '-C', hooks], consumer)
    // The application installs the peer dependencies.
    for (const peer of ['react', 'react-dom', 'scheduler', '@tanstack', '@types', 'csstype']) {
      symlinkSync(join(root, 'node_modules', peer), join(consumer, 'node_modules', peer))
    }
  })

  test('have no dependencies, and contain published files only', () => {
    const manifest = JSON.parse(readFileSync(join(hooks, 'package.json'), 'utf8'))
    expect([manifest.dependencies, Object.keys(manifest.peerDependencies)]).toEqual([
      undefined,
      ['@basaltdb/client', '@tanstack/react-query', 'react'],
    ])
    const files = readdirSync(hooks, { recursive: true, encoding: 'utf8' })
    expect(files.filter((name) => /(?<!\.d)\.ts$|test/.test(name))).toEqual([])
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts']),
    )
    // A server that renders components loads these modules in the browser, too.
    expect(readFileSync(join(hooks, 'dist/use-live.js'), 'utf8')).toMatch(/^'use client';/)
  })

  test('render with only their peers installed', () => {
    const script = `
      import { createClient } from '@basaltdb/client'
      import { BasaltProvider, useList } from '@basaltdb/react'
      import { createElement } from 'react'
      import { renderToString } from 'react-dom/server'
      const client = createClient({ url: 'http://localhost' })
      const List = () => useList('task').status
      console.log(renderToString(createElement(BasaltProvider, { client }, createElement(List))))`
    writeFileSync(join(consumer, 'render.js'), script)
    expect(run(process.execPath, ['render.js'], consumer)).toBe('pending\n')
  })

  test('compile the code of their guide and their README', () => {
    writeFileSync(join(consumer, 'database.ts'), readFileSync(join(import.meta.dirname, 'guide-database.ts')))
    const codeOf = (path: string) =>
      [...readFileSync(path, 'utf8').matchAll(/^```tsx\n(.*?)^```$/gms)].map(([, code]) => code).join('\n')
    const unknown =
      "\n// @ts-expect-error the database has no such collection\nexport const useNothing = () => useLive('nothing')\n"
    writeFileSync(join(consumer, 'guide.tsx'), codeOf(join(root, 'docs/guides/client.md')) + unknown)
    writeFileSync(join(consumer, 'readme.tsx'), codeOf(join(hooks, 'README.md')))
    const jsx = ['--jsx', 'react-jsx', '--skipLibCheck']
    expect(compile(['guide.tsx', 'readme.tsx'], ...jsx)).toBe('')
  })

  test('accept undefined for every option under exactOptionalPropertyTypes', () => {
    writeFileSync(
      join(consumer, 'options.tsx'),
      `import { useList, useMutation } from '@basaltdb/react'
      export function Component() {
        useList('task', { also: undefined, fields: undefined })
        const upsert = useMutation('task', 'upsert', { also: undefined })
        upsert.mutate({ record: {}, on: ['id'], action: undefined })
      }`,
    )
    const jsx = ['--jsx', 'react-jsx', '--skipLibCheck', '--exactOptionalPropertyTypes']
    expect(compile(['options.tsx'], ...jsx)).toBe('')
  })
})
