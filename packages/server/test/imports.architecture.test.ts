import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const source = join(import.meta.dirname, '..', 'src')

/** Layers of imports: a part may import only parts of an earlier row, and itself. */
const layers: readonly (readonly string[])[] = [
  ['lib', 'package.ts'],
  ['config'],
  ['database'],
  ['http'],
  ['feature.ts', 'job-queue.ts', 'machine.ts'],
  ['features/*'],
  ['project'],
  ['configuration.ts'],
  ['platform.ts'],
  ['areas'],
  ['log-output.ts'],
  ['log.ts', 'secrets.ts', 'error-catalog.ts'],
  ['app.ts'],
  ['start-report.ts'],
  ['workers'],
  ['cli'],
  ['main.ts'],
]

/** Areas of features: each may import earlier ones. */
const areas: readonly string[] = [
  'operations',
  'data',
  'events',
  'messaging',
  'identity',
  'files',
  'functions',
]

/** Features that a feature may use; kept small and without cycles. */
const featurePairs: Readonly<Record<string, readonly string[]>> = {
  accounts: ['api-keys', 'audit', 'auth-settings', 'captcha', 'mail', 'passwords', 'sms', 'throttle'],
  admin: ['audit', 'one-time-codes', 'throttle', 'webauthn'],
  advisors: ['audit', 'search'],
  'api-keys': ['audit', 'opaque-tokens'],
  apps: ['audit'],
  'auth-settings': ['audit'],
  cdn: ['audit', 'throttle'],
  captcha: ['throttle'],
  'company-sign-in': ['admin', 'social-login', 'throttle'],
  dashboard: ['audit'],
  callers: ['accounts', 'api-keys', 'oauth-server', 'opaque-tokens', 'policies'],
  collections: ['idempotency', 'schema', 'throttle', 'view-as'],
  'embedding-provider': ['throttle'],
  graphql: ['audit', 'collections', 'idempotency', 'procedures'],
  embeddings: ['audit', 'embedding-provider', 'jobs', 'outbox'],
  inspection: ['runtime'],
  jobs: ['audit', 'queue'],
  mail: ['audit', 'throttle'],
  matviews: ['audit', 'throttle'],
  search: ['audit', 'collections'],
  mfa: ['accounts', 'audit', 'mail', 'one-time-codes', 'sms', 'throttle'],
  'oauth-server': [
    'accounts',
    'audit',
    'captcha',
    'mfa',
    'opaque-tokens',
    'passkeys',
    'social-login',
    'throttle',
  ],
  passkeys: ['accounts', 'audit', 'mfa', 'throttle', 'webauthn'],
  passwords: ['throttle'],
  procedures: ['collections', 'idempotency'],
  push: ['audit', 'throttle'],
  sms: ['audit', 'throttle'],
  'sql-runner': ['audit'],
  support: ['audit', 'mail', 'throttle'],
  policies: ['audit', 'collections', 'throttle'],
  reference: ['documentation'],
  runtime: ['audit', 'collections', 'schedules', 'secrets', 'storage', 'view-as', 'webhooks'],
  realtime: ['audit', 'collections', 'graphql', 'outbox', 'policies', 'view-as'],
  'vector-indexes': ['audit', 'collections'],
  'import-runs': ['collections'],
  testing: ['collections', 'runtime', 'view-as'],
  timeline: ['outbox', 'webhooks'],
  'view-as': ['audit'],
  webhooks: ['audit', 'outbox', 'queue'],
  deploys: ['audit'],
  schedules: ['audit', 'jobs'],
  secrets: ['audit'],
  sites: ['audit', 'cdn', 'throttle'],
  storage: ['audit', 'cdn', 'idempotency', 'usage'],
  'social-login': ['accounts', 'audit', 'throttle'],
  usage: ['audit'],
}

/** Packages that only one part may use. */
const confined: Readonly<Record<string, readonly string[]>> = {
  // The command runs several statements at once, which only the driver's own interface does.
  pg: ['database', 'cli'],
  'pg-protocol': ['database'],
  commander: ['cli', 'main.ts'],
  croner: ['features/*'],
  'ipaddr.js': ['lib', 'http'],
  'smol-toml': ['config', 'features/*', 'project'],
  'prom-client': ['http'],
  // Its factories load modules that take a third of a command's startup; `lib/type.ts` has those in use.
  typebox: ['lib'],
  nodemailer: ['features/*'],
  '@fastify/busboy': ['features/*'],
  '@simplewebauthn/server': ['features/*'],
  '@simplewebauthn/server/helpers': ['features/*'],
  graphql: ['features/*'],
  'html-to-text': ['features/*'],
  marked: ['features/*'],
  'openid-client': ['features/*'],
  ws: ['http', 'features/*'],
}

interface Import {
  readonly file: string
  readonly target: string
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
)
const imports = files.filter((file) => !file.endsWith('.test.ts')).flatMap(readImports)
const local = imports.filter(({ target }) => !isPackage(target))

function readImports(file: string): Import[] {
  const text = readFileSync(join(source, file), 'utf8')
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) => name)
  return specifiers.map((specifier) => ({
    file,
    target: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier,
  }))
}

function isPackage(target: string): boolean {
  return !files.includes(target) && !target.startsWith('.') && !target.endsWith('.json')
}

/**
 * Returns the part of a file: `features/operations/admin/errors.ts` → `features/*`; `features/operations/index.ts`,
 * which wires an area, → `areas`; `lib/lru.ts` → `lib`.
 */
function partOf(file: string): string {
  const [first = '', , feature = '', ...rest] = file.replace('.test.ts', '.ts').split('/')
  if (first !== 'features') return first
  return feature === '' || rest.length === 0 ? 'areas' : 'features/*'
}

function featureOf(file: string): string | undefined {
  return /^features\/[^/]+\/([^/]+)\//.exec(file)?.[1]
}

function areaOf(file: string): string | undefined {
  return /^features\/([^/]+)\//.exec(file)?.[1]
}

function rankOf(file: string): number {
  return layers.findIndex((parts) => parts.includes(partOf(file)))
}

function show({ file, target }: Import): string {
  return `${file} → ${target}`
}

describe('imports', () => {
  test('are found', () => {
    expect(local.length).toBeGreaterThan(200)
    expect(relative(source, join(source, 'app.ts'))).toBe('app.ts')
  })

  test('every file belongs to a layer', () => {
    expect(files.filter((file) => rankOf(file) === -1)).toEqual([])
  })

  test('never point upward', () => {
    const upward = local.filter(({ file, target }) => {
      const [from, to] = [rankOf(file), rankOf(target)]
      return to > from || (to === from && partOf(file) !== partOf(target))
    })
    expect(upward.map(show)).toEqual([])
  })

  test('from one feature to another go through its index and along an allowed pair', () => {
    const wrong = local.filter(({ file, target }) => {
      const [from, to] = [featureOf(file), featureOf(target)]
      if (to === undefined || from === to) return false
      // The configuration is the sum of the sections that features declare.
      if (file === 'configuration.ts') return !target.endsWith('/config.ts')
      if (!target.endsWith('/index.ts')) return true
      return from !== undefined && featurePairs[from]?.includes(to) !== true
    })
    expect(wrong.map(show)).toEqual([])
  })

  test('from one area to another point to an earlier one', () => {
    const wrong = local.filter(({ file, target }) => {
      const [from, to] = [areaOf(file), areaOf(target)]
      return from !== undefined && to !== undefined && areas.indexOf(to) > areas.indexOf(from)
    })
    expect(wrong.map(show)).toEqual([])
    const found = new Set(files.flatMap((file) => areaOf(file) ?? []))
    expect([...found].toSorted()).toEqual(areas.toSorted())
  })

  test('pairs of features have no cycle and are all used', () => {
    const reach = (name: string): string[] =>
      (featurePairs[name] ?? []).flatMap((next) => [next, ...reach(next)])
    for (const name of Object.keys(featurePairs)) expect(reach(name)).not.toContain(name)
    const used = new Set(local.map(({ file, target }) => `${featureOf(file)} ${featureOf(target)}`))
    const pairs = Object.entries(featurePairs).flatMap(([from, targets]) =>
      targets.map((to) => `${from} ${to}`),
    )
    expect(pairs.filter((pair) => !used.has(pair))).toEqual([])
  })

  test('have no cycle, those of types included', () => {
    const targets = new Map(files.map((file): [string, string[]] => [file, []]))
    for (const { file, target } of local) targets.get(file)?.push(target)
    const checked = new Set<string>()
    const findCycle = (file: string, path: readonly string[]): readonly string[] | undefined => {
      const start = path.indexOf(file)
      if (start !== -1) return path.slice(start)
      if (checked.has(file)) return undefined
      for (const target of targets.get(file) ?? []) {
        const cycle = findCycle(target, [...path, file])
        if (cycle !== undefined) return cycle
      }
      checked.add(file)
      return undefined
    }
    expect(files.flatMap((file) => findCycle(file, []) ?? [])).toEqual([])
  })

  test('name a confined package only in the part that wraps it', () => {
    const strays = imports.filter(({ file, target }) => {
      const parts = confined[target]
      return parts !== undefined && !parts.includes(partOf(file))
    })
    expect(strays.map(show)).toEqual([])
  })
})

describe('collections', () => {
  test('reach Postgres only as the caller', () => {
    const strays = local.filter(
      ({ file, target }) => featureOf(file) === 'collections' && target === 'database/system-database.ts',
    )
    expect(strays.map(show)).toEqual([])
  })

  test('parse, plan and compile do no input or output', () => {
    const pure = /^features\/data\/collections\/(parse|plan|compile)\//
    const strays = imports.filter(
      ({ file, target }) =>
        pure.test(file) &&
        /^(node:(fs|net|http|https|timers|child_process|process)|fastify|pg)\b/.test(target),
    )
    expect(strays.map(show)).toEqual([])
  })
})

describe('sources', () => {
  test('do not find files by their own path, which differs in a bundle', () => {
    const finding = files.filter(
      (file) =>
        !/\.test\.ts$|\/tests\//.test(file) &&
        /(?<!createRequire\()import\.meta\b/.test(readFileSync(join(source, file), 'utf8')),
    )
    // They start or load their neighbours, which are in the same folder of a bundle, too.
    expect(finding.toSorted()).toEqual([
      'features/files/storage/images/transformer.ts',
      'features/functions/runtime/child-process.ts',
      'features/messaging/sms/phone.ts',
      'package.ts',
    ])
  })
})

describe('tests', () => {
  test('replace no code of the project', () => {
    const tests = files.filter((file) => file.endsWith('.test.ts'))
    const mocking = tests.filter((file) =>
      /\bvi\.(mock|spyOn|stub)/.test(readFileSync(join(source, file), 'utf8')),
    )
    expect(mocking).toEqual([])
  })
})
