import { createReadStream, type ReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Logger } from 'pino'
import { type Coding, chooseCoding } from '../../../http/responses/content-coding.ts'
import { codeOf } from '../../../lib/errors.ts'
import { packageFolder } from '../../../package.ts'
import { type BuildState, type Clone, DashboardBuild } from './build.ts'

export interface DashboardFolders {
  /** Folder of a published package's files. */
  readonly published: string
  /** Files of a clone. */
  readonly clone: Clone | undefined
}

// The folder next to an installed package belongs to others.
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

/** Pages of a build. */
export type DashboardPage = 'index.html' | 'graphiql.html'

/** File that never changes under its name. */
export interface DashboardAsset {
  readonly size: number
  readonly coding: Coding | undefined
  read(): ReadStream
}

/** Files of the dashboard. Those of builds are read from the disk each time, so that a new one is served at once. */
export interface DashboardFiles {
  readonly state: BuildState
  /**
   * Reads a page. Returns undefined while there is none, while one is being built, and after a failure
   * until one is built.
   */
  readPage(name: DashboardPage): Promise<string | undefined>
  /** Finds a file. @param name without a path */
  findAsset(name: string, acceptedCodings: string | undefined): Promise<DashboardAsset | undefined>
  /** Starts a build in a clone whose sources have changed. Does not wait for it. */
  build(log: Logger): void
  /** Stops a build. */
  stop(): Promise<void>
}

export function openDashboardFiles({ published, clone } = ownFolders): DashboardFiles {
  return clone === undefined ? openPublished(published) : openClone(clone, published)
}

/** Opens published files. They never change, so after the first request only their content is read from the disk. */
function openPublished(folder: string): DashboardFiles {
  const pages = new Map<DashboardPage, string>()
  let names: readonly string[] | undefined
  const assets = new Map<string, DashboardAsset>()
  return {
    state: { kind: 'idle' },
    async readPage(name) {
      const page = pages.get(name) ?? (await readIfPresent(join(folder, name)))
      if (page !== undefined) pages.set(name, page)
      return page
    },
    async findAsset(name, acceptedCodings) {
      names ??= await readdir(join(folder, 'assets')).catch(() => undefined)
      // Only existing names are cached, whatever clients request.
      if (names?.includes(name) !== true) return undefined
      const key = `${chooseCoding(acceptedCodings, ['br', 'gzip'])} ${name}`
      const asset = assets.get(key) ?? (await openAsset(join(folder, 'assets', name), acceptedCodings))
      if (asset !== undefined) assets.set(key, asset)
      return asset
    },
    build: () => undefined,
    stop: async () => undefined,
  }
}

function openClone(clone: Clone, published: string): DashboardFiles {
  const build = new DashboardBuild(clone)
  const { builds } = clone
  return {
    get state() {
      return build.state
    },
    async readPage(name) {
      if (!build.isUsable) return undefined
      const current = await readIfPresent(join(builds, 'current'))
      return await readIfPresent(join(current === undefined ? published : join(builds, current), name))
    },
    async findAsset(name, acceptedCodings) {
      for (const folder of [...(await listBuilds(builds)), published]) {
        const asset = await openAsset(join(folder, 'assets', name), acceptedCodings)
        if (asset !== undefined) return asset
      }
      return undefined
    },
    build: (log) => build.start(log),
    stop: () => build.stop(),
  }
}

/** Lists the builds. Earlier builds serve open pages, which load some of their parts late. */
async function listBuilds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => /^[0-9a-f]{16}$/.test(name)).map((name) => join(folder, name))
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
