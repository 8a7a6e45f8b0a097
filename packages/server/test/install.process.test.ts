import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createDirectory } from './server-process.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Creates a checkout with a lockfile and the script, and an `npm` that records its calls. */
function createCheckout(npmExitCode = 0) {
  const directory = createDirectory()
  const { path } = directory
  mkdirSync(join(path, 'scripts'))
  mkdirSync(join(path, 'bin'))
  copyFileSync(join(root, 'scripts/ensure-installed.js'), join(path, 'scripts/ensure-installed.js'))
  writeFileSync(join(path, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(path, 'package-lock.json'), '{}')
  writeFileSync(join(path, 'bin/npm'), `#!/bin/sh\necho "$PWD $@" >> '${path}/calls'\nexit ${npmExitCode}\n`)
  chmodSync(join(path, 'bin/npm'), 0o755)
  return {
    /** Gives the checkout an installation that is so many seconds newer than the lockfile. */
    install(secondsNewer: number) {
      mkdirSync(join(path, 'node_modules'), { recursive: true })
      const marker = join(path, 'node_modules/.package-lock.json')
      writeFileSync(marker, '{}')
      const now = Date.now() / 1000
      utimesSync(join(path, 'package-lock.json'), now, now)
      utimesSync(marker, now + secondsNewer, now + secondsNewer)
    },
    run() {
      const { status, stderr } = spawnSync(process.execPath, [join(path, 'scripts/ensure-installed.js')], {
        env: { PATH: `${join(path, 'bin')}:/usr/bin:/bin` },
        encoding: 'utf8',
      })
      const calls = existsSync(join(path, 'calls')) ? readFileSync(join(path, 'calls'), 'utf8') : ''
      return { status, stderr, calls }
    },
    expectedCall: `${path} ci --no-audit --no-fund --loglevel=error\n`,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

test('npm start › leaves dependencies alone that are newer than the lockfile', async () => {
  await using checkout = createCheckout()
  checkout.install(10)
  expect(checkout.run()).toEqual({ status: 0, stderr: '', calls: '' })
})

test.each([
  ['missing', undefined],
  ['older than the lockfile', -10],
])('npm start › installs dependencies that are %s', async (_, secondsNewer) => {
  await using checkout = createCheckout()
  if (secondsNewer !== undefined) checkout.install(secondsNewer)
  expect(checkout.run()).toEqual({
    status: 0,
    stderr: 'Installing dependencies (npm ci) ...\n',
    calls: checkout.expectedCall,
  })
})

test('npm start › exits with the code of a failed installation', async () => {
  await using checkout = createCheckout(7)
  expect(checkout.run()).toEqual({
    status: 7,
    stderr: 'Installing dependencies (npm ci) ...\nnpm ci failed: see the messages above\n',
    calls: checkout.expectedCall,
  })
})

test.each([
  [['version'], 0],
  [['no-such-command'], 2],
])('basalt › %s under an older Node hands over to the Node of its dependencies', (args, status) => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })`
  const command = join(root, 'packages/server/bin/basalt.js')
  const result = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, command, ...args],
    { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } },
  )
  const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'))
  expect(result.status, result.stderr).toBe(status)
  if (status === 0) expect(result.stdout).toBe(`${version}\n`)
  else expect(result.stderr).toContain('no-such-command')
})
