import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OperatorError } from '../src/lib/errors.ts'
import { resolveJwtSecret } from '../src/secrets.ts'
import { testConfig, testSecret } from './test-config.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'basalt-secrets-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function resolve(): string {
  return resolveJwtSecret(testConfig({ 'server.data_dir': directory, 'auth.jwt_secret': '' }))
}

test('secrets › uses a configured secret and writes it to no file', () => {
  const config = testConfig({ 'server.data_dir': join(directory, 'unused') })
  expect(resolveJwtSecret(config)).toBe(testSecret)
  expect(() => statSync(join(directory, 'unused'))).toThrow('ENOENT')
})

test('secrets › generates a long secret once, readable by the owner only', () => {
  const secret = resolve()
  expect(secret).toMatch(/^[\w-]{64}$/)
  expect(resolve()).toBe(secret)
  const modes = ['secrets', 'secrets/jwt_secret'].map((path) => statSync(join(directory, path)).mode & 0o777)
  expect(modes).toEqual([0o700, 0o600])
})

test('secrets › generates a secret for each data directory', () => {
  const first = resolve()
  rmSync(join(directory, 'secrets'), { recursive: true })
  expect(resolve()).not.toBe(first)
})

test('secrets › rejects a damaged secret', () => {
  mkdirSync(join(directory, 'secrets'))
  const path = join(directory, 'secrets', 'jwt_secret')
  writeFileSync(path, 'short\n')
  expect(resolve).toThrow(
    new OperatorError(`${path} is damaged: remove it to make a new one (signs everybody out)`),
  )
})

test('secrets › rejects a secret that cannot be stored', () => {
  writeFileSync(join(directory, 'secrets'), 'a file in the way')
  chmodSync(join(directory, 'secrets'), 0o600)
  expect(resolve).toThrow(/^cannot keep a secret in .*jwt_secret: E(EXIST|NOTDIR)/)
})
