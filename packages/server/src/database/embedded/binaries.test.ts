import { mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { OperatorError } from '../../lib/errors.ts'
import { completeInstall, hasLibrary } from './binaries.ts'

const directory = mkdtempSync(join(tmpdir(), 'basalt-binaries-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('embedded PostgreSQL › loads no library that its package does not have', () => {
  const native = join(directory, 'with-libraries')
  mkdirSync(join(native, 'lib/postgresql'), { recursive: true })
  expect(hasLibrary(native, 'pg_stat_statements')).toBe(false)
  writeFileSync(
    join(native, `lib/postgresql/pg_stat_statements.${process.platform === 'darwin' ? 'dylib' : 'so'}`),
    '',
  )
  expect(hasLibrary(native, 'pg_stat_statements')).toBe(true)
})

test('embedded PostgreSQL › gets its links in an installation without install scripts, or names the command that makes them', () => {
  const native = join(directory, 'native')
  mkdirSync(join(native, 'bin'), { recursive: true })
  for (const name of ['initdb', 'pg_ctl', 'postgres']) writeFileSync(join(native, 'bin', name), '')
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]
  writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links))

  // The folder of the link is missing. A missing privilege to write there has the same effect, but root always
  // has it.
  expect(() => completeInstall(native)).toThrow(OperatorError)
  expect(() => completeInstall(native)).toThrow(`cd '${directory}' && node scripts/hydrate-symlinks.js`)

  mkdirSync(join(native, 'lib'))
  completeInstall(native)
  expect(readlinkSync(join(native, 'lib/libpq.so.5'))).toBe('libpq.so.5.18')
})
