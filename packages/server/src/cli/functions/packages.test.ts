import { describe, expect, test } from 'vitest'
import { installsServer, type LockedPackages, listProductionPackages } from './packages.ts'

function locationsOf(packages: LockedPackages): string[] {
  return listProductionPackages(packages).map(({ location }) => location)
}

describe('production packages', () => {
  test('include what dependencies reach, and no development package', () => {
    expect(
      locationsOf({
        '': { dependencies: { a: '1' } },
        'node_modules/a': { dependencies: { b: '1', '@s/c': '1' } },
        'node_modules/b': {},
        'node_modules/@s/c': { dependencies: { a: '1' } },
        'node_modules/vitest': { dependencies: { b: '1', d: '1' } },
        'node_modules/d': {},
      }),
    ).toEqual(['node_modules/@s/c', 'node_modules/a', 'node_modules/b'])
  })

  test('prefer a nested package to one of the project', () => {
    expect(
      locationsOf({
        '': { dependencies: { a: '1' } },
        'node_modules/a': { dependencies: { b: '1' } },
        'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
        'node_modules/b': {},
        'node_modules/c': {},
      }),
    ).toEqual(['node_modules/a', 'node_modules/a/node_modules/b', 'node_modules/c'])
  })

  test('resolve a link to its folder, and its packages from there', () => {
    expect(
      listProductionPackages({
        '': { dependencies: { own: '*' } },
        'node_modules/own': { link: true, resolved: 'packages/own' },
        'packages/own': { dependencies: { a: '1' } },
        'node_modules/a': {},
      }),
    ).toEqual([
      { location: 'node_modules/a', source: 'node_modules/a', isOptional: false },
      { location: 'node_modules/own', source: 'packages/own', isOptional: false },
    ])
  })

  test('keep a package of a linked folder within the copy of the folder', () => {
    expect(
      listProductionPackages({
        '': { dependencies: { own: '*', a: '2' } },
        'node_modules/own': { link: true, resolved: 'packages/own' },
        'packages/own': { dependencies: { a: '1' } },
        'packages/own/node_modules/a': { dependencies: { b: '1' } },
        'packages/own/node_modules/b': {},
        'node_modules/a': {},
      }),
    ).toEqual([
      { location: 'node_modules/a', source: 'node_modules/a', isOptional: false },
      { location: 'node_modules/own', source: 'packages/own', isOptional: false },
      {
        location: 'node_modules/own/node_modules/a',
        source: 'packages/own/node_modules/a',
        isOptional: false,
      },
      {
        location: 'node_modules/own/node_modules/b',
        source: 'packages/own/node_modules/b',
        isOptional: false,
      },
    ])
  })

  test('include optional and peer packages that are installed', () => {
    expect(
      listProductionPackages({
        '': { dependencies: { a: '1' }, optionalDependencies: { gone: '1' } },
        'node_modules/a': {
          optionalDependencies: { native: '1', other: '1' },
          peerDependencies: { peer: '1', absent: '1' },
        },
        'node_modules/native': {},
        'node_modules/peer': {},
      }),
    ).toEqual([
      { location: 'node_modules/a', source: 'node_modules/a', isOptional: false },
      { location: 'node_modules/native', source: 'node_modules/native', isOptional: true },
      { location: 'node_modules/peer', source: 'node_modules/peer', isOptional: false },
    ])
  })

  test('require a package that is optional for one and needed by another', () => {
    expect(
      listProductionPackages({
        '': { dependencies: { b: '1' }, optionalDependencies: { a: '1' } },
        'node_modules/a': {},
        'node_modules/b': { dependencies: { a: '1' } },
      }).find(({ location }) => location === 'node_modules/a'),
    ).toMatchObject({ isOptional: false })
  })

  test('leave out the server and packages that only it needs', () => {
    expect(
      locationsOf({
        '': { dependencies: { basaltdb: '1', '@basaltdb/functions': '1', plugin: '1' } },
        'node_modules/basaltdb': {
          dependencies: { pg: '1', typebox: '1', shared: '1' },
          optionalDependencies: { native: '1' },
        },
        'node_modules/basaltdb/node_modules/shared': {},
        'node_modules/pg': { dependencies: { leaf: '1' } },
        'node_modules/leaf': {},
        'node_modules/native': {},
        'node_modules/typebox': {},
        'node_modules/shared': {},
        'node_modules/@basaltdb/functions': { peerDependencies: { typebox: '1' } },
        'node_modules/plugin': { dependencies: { shared: '1' }, peerDependencies: { basaltdb: '1' } },
      }),
    ).toEqual([
      'node_modules/@basaltdb/functions',
      'node_modules/plugin',
      'node_modules/shared',
      'node_modules/typebox',
    ])
  })

  test('name a dependency that the lockfile lacks', () => {
    expect(() => listProductionPackages({ '': { dependencies: { a: '1' } } })).toThrow(
      'a, which package.json needs',
    )
  })
})

test.each<[boolean, LockedPackages]>([
  [true, { 'node_modules/basaltdb': {} }],
  [true, { 'node_modules/a/node_modules/basaltdb': { dev: false } }],
  [false, { 'node_modules/basaltdb': { dev: true } }],
  [false, { 'node_modules/not-basaltdb': {}, 'node_modules/basaltdb/node_modules/a': {} }],
])('detects whether a lockfile installs the server: %s, %j', (expected, packages) => {
  expect(installsServer(packages)).toBe(expected)
})
