import { createReadStream, type ReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { type Coding, chooseCoding } from '../../../http/content-coding.ts'
import { codeOf } from '../../../lib/errors.ts'
import { type BuildState, DashboardBuild } from './build.ts'

const packageFolder = fileURLToPath(new URL('../../../../', import.meta.url))

export interface DashboardFolders {
  /** The files of a published package. */
  readonly published: string
  /** Of a clone. */
  readonly clone: Clone | undefined
}

interface Clone {
  /** The builds; `scripts/build-dashboard.js` says what is in it. */
  readonly builds: string
  /** Makes them. */
  readonly script: string
}

// Beside an installed package are the files of others.
const isInstalled = packageFolder.includes(`${sep}node_modules${sep}`)

const ownFolders: DashboardFolders = {
  published: join(packageFolder, 'dashboard'),
  clone: isInstalled
    ? undefined
    : {
        builds: join(packageFolder, '..', 'dashboard', 'dist'),
        script: join(packageFolder, '..', '..', 'scripts', 'build-dashboard.js'),
      },
}

/** A file that never changes under its name. */
export interface DashboardAsset {
  readonly size: number
  readonly coding: Coding | undefined
  read(): ReadStream
}

/** Files of the dashboard. They are read from the disk each time: most servers are looked at rarely. */
export interface DashboardFiles {
  readonly state: BuildState
  /** `index.html`; undefined while there is none. */
  readPage(): Promise<string | undefined>
  /** @param name without a path */
  findAsset(name: string, acceptedCodings: string | undefined): Promise<DashboardAsset | undefined>
  /** In a clone: has it built when its sources have changed. Does not wait for it. */
  build(log: Logger): void
  /** Ends a build. */
  stop(): Promise<void>
}

export function openDashboardFiles(folders = ownFolders): DashboardFiles {
  const build = folders.clone === undefined ? undefined : new DashboardBuild(folders.clone.script)
  return {
    get state() {
      return build?.state ?? { kind: 'idle' }
    },
    async readPage() {
      const builds = folders.clone?.builds ?? ''
      const name = builds === '' ? undefined : await readIfPresent(join(builds, 'current'))
      const folder = name === undefined ? folders.published : join(builds, name)
      return await readIfPresent(join(folder, 'index.html'))
    },
    async findAsset(name, acceptedCodings) {
      for (const folder of await listFolders(folders)) {
        const asset = await openAsset(join(folder, 'assets', name), acceptedCodings)
        if (asset !== undefined) return asset
      }
      return undefined
    },
    build: (log) => build?.start(log),
    stop: async () => await build?.stop(),
  }
}

/** Builds before the newest are for pages that are open: they load parts of theirs late. */
async function listFolders({ published, clone }: DashboardFolders): Promise<string[]> {
  if (clone === undefined) return [published]
  const names = await readdir(clone.builds).catch(() => [])
  const builds = names.filter((name) => /^[0-9a-f]{16}$/.test(name))
  return [...builds.map((name) => join(clone.builds, name)), published]
}

const suffixes: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }

async function openAsset(
  path: string,
  acceptedCodings: string | undefined,
): Promise<DashboardAsset | undefined> {
  const plain = await sizeOf(path)
  if (plain === undefined) return undefined
  const coding = chooseCoding(acceptedCodings, ['br', 'gzip'])
  const coded = coding === undefined ? undefined : `${path}${suffixes[coding]}`
  const size = coded === undefined ? undefined : await sizeOf(coded)
  return coded === undefined || size === undefined
    ? { size: plain, coding: undefined, read: () => createReadStream(path) }
    : { size, coding, read: () => createReadStream(coded) }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path)
    return found.isFile() ? found.size : undefined
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}
