/** Builds the package of the current folder into its dist: JavaScript and declarations as ESM. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const target = resolve('dist')
const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '..', 'bin', 'tsc')

rmSync(target, { recursive: true, force: true })
execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', target], {
  stdio: 'inherit',
})

// The compiler rewrites the extensions of imports in JavaScript only. In declarations, bundlers need the names of
// existing files.
for (const name of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue
  const path = join(target, name)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
}
