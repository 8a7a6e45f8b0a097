import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isProcessAlive, isServed, postmasterPid, releaseStaleLockFile } from './lock-file.ts'

let directory: string

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'basalt-lock-')))
})
afterEach(() => rmSync(directory, { recursive: true }))

const rest = `${'/data'}\n1700000000\n5432\n/run\n\n  1 2\nready\n`

function write(pid: number): void {
  writeFileSync(join(directory, 'postmaster.pid'), `${pid}\n${rest}`)
}

function read(): string {
  return readFileSync(join(directory, 'postmaster.pid'), 'utf8')
}

/** Returns the id of a process that has ended. */
function deadPid(): number {
  return spawnSync('true').pid
}

test('lock file › names no process when it is missing', () => {
  expect(postmasterPid(directory)).toBeUndefined()
  expect(isServed(directory)).toBe(false)
  releaseStaleLockFile(directory)
})

test('lock file › names no process while it is still being written', () => {
  writeFileSync(join(directory, 'postmaster.pid'), '')
  expect(postmasterPid(directory)).toBeUndefined()
})

test('lock file › names no process that has ended; Postgres itself handles its file', () => {
  const pid = deadPid()
  write(pid)
  expect(isProcessAlive(pid)).toBe(false)
  expect(isServed(directory)).toBe(false)
  releaseStaleLockFile(directory)
  expect(read()).toBe(`${pid}\n${rest}`)
})

test('lock file › is replaced when its process works in another directory and is no Postgres', () => {
  write(process.ppid)
  expect(isProcessAlive(process.ppid)).toBe(true)
  // Only Linux shows the directory of a process.
  if (process.platform !== 'linux') return
  expect(isServed(directory)).toBe(false)
  releaseStaleLockFile(directory)
  expect(read()).toBe(`${process.pid}\n${rest}`)
})
