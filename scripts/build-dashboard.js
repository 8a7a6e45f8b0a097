// Builds the dashboard when its sources have changed. `npm start` calls it next to the server; tests and packing call it
// before. Plain JavaScript, so that it runs under any Node that runs npm.
//
// `dist` has a folder for each build, named by the hash of its sources, and the file `current` with the name of the
// newest. Both appear by a rename, so that a server finds either all of a build or nothing, and concurrent builds do not
// disturb each other. Older builds stay for pages that are open.
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
/** Age of an unfinished build after which it counts as killed. */
const abandonedMs = 60 * 60 * 1000
const notPermitted = new Set(['EACCES', 'EPERM', 'EROFS'])

/** Lists the source files of the build, sorted, without tests and build outputs. */
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

/** Returns the folder of the build of these sources, if there is one. */
function findBuild(name) {
  const folder = join(target, name)
  return existsSync(join(folder, 'index.html')) ? folder : undefined
}

// The shell names every other file, so shorter hashes make it smaller.
const names = {
  entryFileNames: 'assets/[name]-[hash:7].js',
  chunkFileNames: 'assets/[name]-[hash:7].js',
  assetFileNames: 'assets/[name]-[hash:6][extname]',
}

/** The pages share no files: those of GraphiQL do not change what the dashboard loads. */
const pages = ['index', 'graphiql']

function buildOf(page, folder) {
  return {
    root: dashboard,
    logLevel: 'warn',
    build: {
      outDir: folder,
      emptyOutDir: false,
      license: { fileName: `licenses-${page}.md` },
      manifest: `.vite/${page}.json`,
      // budget.journey.test.ts limits the compressed sizes.
      chunkSizeWarningLimit: 2000,
      rollupOptions: { input: join(dashboard, `${page}.html`), onwarn: warn, output: names },
    },
  }
}

/** Passes warnings on, except those about directives for React's compiler, which a build removes. */
function warn(warning, handle) {
  if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') handle(warning)
}

async function build(name) {
  const folder = join(target, `.building-${process.pid}`)
  try {
    // The configuration is in the folder of the sources.
    process.chdir(dashboard)
    const vite = await import('vite')
    for (const page of pages) await vite.build(buildOf(page, folder))
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

/** Makes the build the served one and removes builds that no page needs any more. */
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
    // The file is renewed even if it names this build: a server whose own build has failed waits for a later one.
    publish(name)
  } catch (error) {
    // A server may run under an account that can only read the clone.
    if (!notPermitted.has(error.code) || readFileSync(current, 'utf8') !== name) throw error
  }
  return join(target, name)
}

const [option, value] = process.argv.slice(2)
// Tests and development set another value, with which React would be twice as large.
process.env.NODE_ENV = 'production'
// The server that starts has priority.
if (option === '--idle') setPriority(19)
const folder = await ensureBuilt()
// Tests read the manifest to learn what is loaded when.
if (option === '--copy-to') {
  cpSync(folder, value, { recursive: true, filter: (path) => !path.endsWith('.vite') })
}
