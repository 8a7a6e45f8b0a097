// Copies what the published package shares with the repository beside its own files, and the built dashboard, and removes
// it again:
// `npm pack` and `npm publish` call it before and after (docs.npmjs.com, scripts, prepack and postpack).
// Plain JavaScript, so that it runs under any Node npm runs under.
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const server = join(root, 'packages', 'server')

const shared = ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'deploy', 'docs', 'examples']

// What an earlier build left behind would be published, too.
for (const name of [...shared, 'dashboard', 'dist'])
  rmSync(join(server, name), { recursive: true, force: true })
if (process.argv[2] === 'add') {
  for (const name of shared) cpSync(join(root, name), join(server, name), { recursive: true })
  const build = [join(root, 'scripts', 'build-dashboard.js'), '--copy-to', join(server, 'dashboard')]
  execFileSync(process.execPath, build, { stdio: ['ignore', 'ignore', 'inherit'] })
}
