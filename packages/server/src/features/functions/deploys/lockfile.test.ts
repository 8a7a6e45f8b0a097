import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findFault } from './lockfile.ts'

const folder = mkdtempSync(join(tmpdir(), 'basalt-lockfile-'))
afterAll(() => rmSync(folder, { recursive: true }))

const registry = 'https://packages.example.com/npm/'
const leaf = {
  version: '1.2.3',
  resolved: `${registry}leaf/-/leaf-1.2.3.tgz`,
  integrity: 'sha512-AA==',
}

async function faultOf(
  { project = {}, packages = {} }: { readonly project?: object; readonly packages?: object },
  { isKnown = true } = {},
): Promise<string | undefined> {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  return await findFault(folder, isKnown ? [registry] : undefined)
}

const locked = (entry: object) => ({ packages: { 'node_modules/leaf': entry } })
const noRegistry = 'which does not come from a registry in the npm configuration of the server'

test.for([
  { packages: { '': { dependencies: { leaf: '^1.0.0' } }, 'node_modules/leaf': leaf } },
  locked({ ...leaf, resolved: 'https://registry.npmjs.org/leaf/-/leaf-1.2.3.tgz' }),
  locked({ version: '1.2.3-beta.1+build', integrity: 'sha512-AA==' }),
  locked({
    ...leaf,
    name: '@scope/other',
    dependencies: { a: '>=1 <2 || 3.x', b: 'npm:@scope/b@^2', c: '' },
  }),
  {
    packages: {
      'node_modules/@a/b': leaf,
      'node_modules/@a/b/node_modules/c': { version: '1.0.0', inBundle: true },
    },
  },
  {
    project: { overrides: { a: { '.': '1.0.0', b: '$c' }, d: 'npm:e@2' }, devDependencies: { f: 'latest' } },
  },
])('package-lock.json › passes with packages of a registry: %j', async (files) => {
  expect(await faultOf(files)).toBeUndefined()
})

test.for([
  'https://github.com/a/leaf.git',
  'https://codeload.github.com/a/leaf/tar.gz/abc',
  'https://packages.example.com/other/leaf.tgz',
  'https://packages.example.com/npm/../other/leaf.tgz',
  'https://packages.example.com@evil.example.com/npm/leaf.tgz',
  'http://registry.npmjs.org/leaf/-/leaf-1.2.3.tgz',
  'git+https://github.com/a/leaf.git#abc',
  'git+ssh://git@github.com/a/leaf.git#abc',
  'file:leaf.tgz',
  '../leaf.tgz',
  true,
])('package-lock.json › has no package from elsewhere: %s', async (resolved) => {
  expect(await faultOf(locked({ ...leaf, resolved }))).toBe(
    `package-lock.json has "node_modules/leaf", ${noRegistry}`,
  )
})

test('package-lock.json › has addresses of any registry where the configuration is unknown', async () => {
  const faultWith = (resolved: string) => faultOf(locked({ ...leaf, resolved }), { isKnown: false })
  expect(await faultWith('https://other.example.com/a.tgz')).toBeUndefined()
  expect(await faultWith('git+https://example.com/a')).toContain(noRegistry)
})

test.for([
  [{ ...leaf, version: 'file:../leaf' }, 'has no version of a registry'],
  [{ ...leaf, version: 'git+https://github.com/a/leaf.git' }, 'has no version of a registry'],
  [{ resolved: leaf.resolved, integrity: leaf.integrity }, 'has no version of a registry'],
  [{ ...leaf, name: 'leaf@file:..' }, 'has no version of a registry'],
  [{ version: leaf.version, resolved: leaf.resolved }, 'has no integrity'],
  [{ version: '1.2.3', inBundle: true }, 'has no integrity'],
  [{ ...leaf, link: true }, 'is a link to a folder, which the server does not have'],
  [{ ...leaf, dependencies: { a: 'file:../a' } }, 'needs "file:../a", which is no version of a registry'],
] as const)('package-lock.json › has versions with their hash: %j', async ([entry, fault]) => {
  expect(await faultOf(locked(entry))).toBe(`package-lock.json has "node_modules/leaf", which ${fault}`)
})

test.for([
  'packages/a',
  'node_modules/../a',
  'node_modules/a/../../b',
  'node_modules/.bin',
  '/node_modules/a',
])('package-lock.json › has packages below node_modules: %s', async (path) => {
  expect(await faultOf({ packages: { [path]: leaf } })).toBe(
    `package-lock.json has ${JSON.stringify(path)}, which is no package below node_modules`,
  )
})

test.for([
  'file:../a',
  'link:../a',
  '../a',
  './a.tgz',
  '~/a',
  'a.tgz',
  'git+https://github.com/a/a.git',
  'git@github.com:a/a.git',
  'github:a/a',
  'a/a',
  'https://github.com/a/a.git',
  'http://example.com/a',
  'npm:a@file:b',
  'workspace:*',
])('package.json › needs versions of a registry, and not %s', async (spec) => {
  const fault = `package.json has ${JSON.stringify(spec)}, which is no version of a registry`
  for (const member of [
    'dependencies',
    'devDependencies',
    'optionalDependencies',
    'peerDependencies',
    'overrides',
  ])
    expect([member, await faultOf({ project: { [member]: { a: spec } } })]).toEqual([member, fault])
  expect(await faultOf({ project: { overrides: { a: { b: spec } } } })).toBe(fault)
})

test('package.json › has no workspaces', async () => {
  expect(await faultOf({ project: { workspaces: ['packages/*'] } })).toBe(
    'package.json must have no workspaces',
  )
})
