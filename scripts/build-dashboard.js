// Builds the dashboard when its sources have changed: `npm start` calls it beside the server, tests and packing before.
// Plain JavaScript, so that it runs under any Node npm runs under.
//
// `dist` has a folder for each build, named by the hash of its sources, and the file `current`, which names the newest.
// Both appear by a rename, so that a server finds all of a build or nothing, and two builds at once do not disturb
// each other. Builds before the newest stay for pages that are open.
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { setPriority } from 'node:os'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dashboard = join(root, 'packages', 'dashboard')
const target = join(dashboard, 'dist')
const current = join(target, 'current')
const keptBuilds = 3
/** A build that takes longer was killed. */
const abandonedMs = 60 * 60 * 1000
const notPermitted = new Set(['EACCES', 'EPERM', 'EROFS'])

/** Files in the build's sources, sorted: not tests, and not what builds make. */
function listSources() {
  const folders = [dashboard, join(root, 'packages', 'client', 'src')]
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/^(dist|node_modules|src\/tests)\/|\.test\.tsx?$/.test(relative(folder, path))),
  )
  return [...files, join(root, 'package-lock.json'), fileURLToPath(import.meta.url)].sort()
}

function hashSources() {
  const hash = createHash('sha256')
  for (const path of listSources()) {
    const content = readFileSync(path)
    hash.update(`${relative(root, path)} ${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Where the build of these sources is, if there is one. */
function findBuild(name) {
  const folder = join(target, name)
  return existsSync(join(folder, 'index.html')) ? folder : undefined
}

async function build(name) {
  const folder = join(target, `.building-${process.pid}`)
  try {
    // The configuration is found where the sources are.
    process.chdir(dashboard)
    const vite = await import('vite')
    await vite.build({ root: dashboard, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } })
    await compress(folder)
    try {
      renameSync(folder, join(target, name))
    } catch (error) {
      // Another build of the same sources was faster.
      if (findBuild(name) === undefined) throw error
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const compressed = new Set(['.js', '.css', '.svg', '.json'])

async function compress(folder) {
  const files = readdirSync(join(folder, 'assets')).filter((name) => compressed.has(extname(name)))
  await Promise.all(
    files.map(async (name) => {
      const path = join(folder, 'assets', name)
      const content = readFileSync(path)
      writeFileSync(`${path}.br`, await promisify(brotliCompress)(content))
      writeFileSync(`${path}.gz`, await promisify(gzip)(content, { level: 9 }))
    }),
  )
}

/** Makes the build the one that is served, and removes what no page needs any more. */
function publish(name) {
  const folder = join(target, name)
  const now = new Date()
  utimesSync(folder, now, now)
  const temporary = join(target, `.current-${process.pid}`)
  writeFileSync(temporary, name)
  renameSync(temporary, current)
  const age = (entry) => Date.now() - statSync(join(target, entry), { throwIfNoEntry: false })?.mtimeMs
  const builds = readdirSync(target)
    .filter((entry) => /^[0-9a-f]{16}$/.test(entry))
    .sort((a, b) => age(a) - age(b))
  const abandoned = readdirSync(target).filter((entry) => entry[0] === '.' && age(entry) > abandonedMs)
  for (const entry of [...builds.slice(keptBuilds), ...abandoned]) {
    rmSync(join(target, entry), { recursive: true, force: true })
  }
}

/** @returns the folder of the build */
async function ensureBuilt() {
  const name = hashSources()
  if (findBuild(name) === undefined) {
    console.log('building')
    mkdirSync(target, { recursive: true })
    await build(name)
  }
  try {
    // Written anew, too, where it named this build: a server whose own build has failed looks for a later one.
    publish(name)
  } catch (error) {
    // A server may run as an account that only reads the clone.
    if (!notPermitted.has(error.code) || readFileSync(current, 'utf8') !== name) throw error
  }
  return join(target, name)
}

const [option, value] = process.argv.slice(2)
// Tests and development set another one, with which React would be twice as large.
process.env.NODE_ENV = 'production'
// Beside a server that starts: it comes first.
if (option === '--idle') setPriority(19)
const folder = await ensureBuilt()
// The manifest says to tests what is loaded when.
if (option === '--copy-to') {
  cpSync(folder, value, { recursive: true, filter: (path) => !path.endsWith('.vite') })
}
