import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { makeScratchDirectory } from './scratch-directory.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const server = join(root, 'packages/server')

/**
 * Builds the package from the sources as an installation has it, next to links to its dependencies. Its start takes
 * three quarters of the processor time of the sources'. It has no dashboard, whose tests build their own. Until it is
 * disposed, `BASALT_TEST_EXECUTABLE` names its executable.
 */
export async function installPackage(): Promise<Disposable> {
  const directory = makeScratchDirectory('basalt-installed-')
  const release = cleanUpAfterKill({ directory })
  chmodSync(directory, 0o755)
  const modules = join(directory, 'node_modules')
  const installed = join(modules, 'basaltdb')
  mkdirSync(installed, { recursive: true })
  linkDependencies(modules)
  // Node resolves links before it searches the folder of a module.
  for (const name of ['bin', 'package.json'])
    cpSync(join(server, name), join(installed, name), { recursive: true })
  symlinkSync(join(server, 'migrations'), join(installed, 'migrations'))
  symlinkSync(join(root, 'docs'), join(installed, 'docs'))
  const build = join(root, 'scripts/build-server.js')
  await promisify(execFile)(process.execPath, [build, join(installed, 'dist')])
  process.env.BASALT_TEST_EXECUTABLE = join(installed, 'bin/basalt.js')
  return {
    [Symbol.dispose]() {
      delete process.env.BASALT_TEST_EXECUTABLE
      rmSync(directory, { recursive: true, force: true })
      release()
    },
  }
}

/** Links the dependencies of the repository into a `node_modules`, without the packages of the repository. */
export function linkDependencies(modules: string): void {
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === 'basaltdb' || name === 'create-basaltdb') continue
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
}
