// Builds the server, the dashboard and the documentation site, and copies the files that the published package shares
// with the repository; or removes all of it again. `npm pack` and `npm publish` call it before and after
// (docs.npmjs.com, scripts, prepack and postpack). After a failure npm does not call it. Plain JavaScript, so that it
// runs under any Node that runs npm.
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const server = join(root, 'packages', 'server')

const shared = ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'deploy', 'docs', 'examples']

// Otherwise files of an earlier build would be published, too.
remove()
if (process.argv[2] === 'add') {
  try {
    run('build-server.js')
    run('build-dashboard.js', '--copy-to', join(server, 'dashboard'))
    // Tests of packages need neither the site nor its generator.
    if (process.env.BASALT_TEST_WITHOUT_DOCS === undefined) run('build-docs.ts')
    for (const name of shared) cpSync(join(root, name), join(server, name), { recursive: true })
  } catch (error) {
    remove()
    throw error
  }
}

function remove() {
  for (const name of [...shared, 'dashboard', 'dist', 'docs-site'])
    rmSync(join(server, name), { recursive: true, force: true })
}

function run(script, ...args) {
  const build = [join(root, 'scripts', script), ...args]
  execFileSync(process.execPath, build, { stdio: ['ignore', 'ignore', 'inherit'] })
}
