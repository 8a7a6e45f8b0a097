// Installs the dependencies when they are missing or older than the lockfile.
// Plain JavaScript without imports from node_modules: it runs before they exist, on Node 20 or later.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

function modifiedAt(path) {
  try {
    return statSync(join(root, path)).mtimeMs
  } catch {
    return 0
  }
}

// npm writes node_modules/.package-lock.json last, so an interrupted install counts as none.
if (modifiedAt('node_modules/.package-lock.json') < modifiedAt('package-lock.json')) {
  process.stderr.write('Installing dependencies (npm ci) ...\n')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) {
    process.stderr.write('npm ci failed: see the messages above\n')
    process.exit(npm.status ?? 1)
  }
}
