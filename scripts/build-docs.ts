/**
 * Builds the documentation site from `docs/` into the server's package: `npm run build`. The generator has a folder
 * and a lockfile of its own, `docs-site/`, and is installed here if it is missing or older than the lockfile.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { moveScripts } from './docs/move-scripts.ts'
import { packSite } from './docs/pack-site.ts'
import { writeSiteSources } from './docs/site-sources.ts'

const root = join(import.meta.dirname, '..')
const generator = join(root, 'docs-site')
const server = join(root, 'packages/server')

installGenerator()
const pages = writeSiteSources(root, generator)
const built = mkdtempSync(join(tmpdir(), 'basalt-docs-'))
try {
  run(process.execPath, [join(generator, 'node_modules/astro/bin/astro.mjs'), 'build', '--outDir', built], {
    ASTRO_TELEMETRY_DISABLED: '1',
  })
  moveScripts(built, '/docs')
  const { version } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))
  const size = packSite(built, join(server, 'docs-site'), version)
  console.log(`documentation site: ${pages.length} pages, ${Math.round(size / 1000)} KB`)
} finally {
  rmSync(built, { recursive: true, force: true })
}

/** Installs the generator unless it is as new as its lockfile. npm writes `.package-lock.json` last. */
function installGenerator(): void {
  const modifiedAt = (name: string) =>
    statSync(join(generator, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (modifiedAt('node_modules/.package-lock.json') >= modifiedAt('package-lock.json')) return
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

function run(
  program: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): void {
  try {
    execFileSync(program, args, { cwd: generator, env: { ...process.env, ...settings }, stdio: 'pipe' })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: Buffer; stderr?: Buffer }
    process.stderr.write(`${stdout}${stderr}`)
    throw new Error(`${program} ${args[0]} failed`)
  }
}
