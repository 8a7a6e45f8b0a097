import { describe, expect, test } from 'vitest'
import { findForeignPackages } from './native-modules.ts'

function elf(machine: number): Buffer {
  const header = Buffer.alloc(20)
  header.writeUInt32BE(0x7f454c46)
  header.writeUInt16LE(machine, 18)
  return header
}

function mach(cpu: number): Buffer {
  const header = Buffer.alloc(20)
  header.writeUInt32LE(0xfeedfacf)
  header.writeUInt32LE(cpu, 4)
  return header
}

const path = 'node_modules/@img/native/build/x.node'

describe('native modules', () => {
  test.each([
    ['Linux on x64', elf(62), []],
    ['Linux on arm64', elf(183), ['@img/native (linux-arm64)']],
    ['Linux on another machine', elf(8), ['@img/native (linux-other)']],
    ['macOS', mach(0x0100000c), ['@img/native (darwin-arm64)']],
    [
      'several machines of macOS',
      Buffer.from('cafebabe'.padEnd(40, '0'), 'hex'),
      ['@img/native (darwin-universal)'],
    ],
    ['Windows', Buffer.from('MZ'.padEnd(20)), ['@img/native (win32)']],
    ['something else', Buffer.alloc(20), ['@img/native (unknown)']],
    ['nothing', Buffer.alloc(0), ['@img/native (unknown)']],
  ])('for %s are compared with the platform of the server', (_case, header, foreign) => {
    expect(findForeignPackages([{ path, header }], 'linux-x64')).toEqual(foreign)
  })

  test('may be for several platforms if one fits', () => {
    const modules = [
      { path: 'node_modules/a/prebuilds/linux-x64.node', header: elf(62) },
      { path: 'node_modules/a/prebuilds/darwin.node', header: mach(0x01000007) },
      { path: 'node_modules/a/node_modules/b/b.node', header: mach(0x01000007) },
      { path: 'functions/own.node', header: elf(40) },
    ]
    expect(findForeignPackages(modules, 'linux-x64')).toEqual([
      'b (darwin-x64)',
      'functions/own.node (linux-arm)',
    ])
  })
})
