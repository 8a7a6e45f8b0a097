import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canReach, findUnprivilegedUser } from './os-user.ts'

const isRoot = process.getuid?.() === 0
const stranger = { name: 'stranger', uid: 54_321, gid: 54_321 }
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-user-'))
  mkdirSync(join(directory, 'inner'))
})
afterEach(() => rmSync(directory, { recursive: true }))

test.each([
  [0o755, true],
  [0o711, true],
  [0o700, false],
  [0o750, false],
])('canReach › returns for another user and a directory of mode %o: %s', (mode, passes) => {
  chmodSync(directory, mode)
  expect(canReach(stranger, join(directory, 'inner', 'file'))).toBe(passes)
})

test("canReach › checks the owner's permissions for the owner", () => {
  chmodSync(directory, 0o700)
  const owner = { name: 'owner', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  expect(canReach(owner, join(directory, 'inner', 'file'))).toBe(true)
})

test('Postgres account › is the current one, unless that is root', () => {
  expect(findUnprivilegedUser(directory) === undefined).toBe(!isRoot)
})

describe.runIf(isRoot)('Postgres account under root', () => {
  test('is one that was created for it', () => {
    expect(['basalt', 'postgres', 'nobody']).toContain(findUnprivilegedUser(directory)?.name)
  })

  test('is the owner of the directory, when that is an account', () => {
    chownSync(directory, 65_534, 65_534)
    expect(findUnprivilegedUser(directory)).toMatchObject({ name: 'nobody', uid: 65_534 })
    chownSync(directory, stranger.uid, stranger.gid)
    expect(findUnprivilegedUser(directory)?.uid).not.toBe(stranger.uid)
  })
})
