import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Files, and folders of files, that do not have to exist. */
export interface Watched {
  readonly files: readonly string[]
  readonly folders: readonly string[]
}

/**
 * How often the files are looked at. A few dozen of them take less than a millisecond, and a look misses nothing that
 * editors do to replace a file, on any file system.
 */
const lookMs = 100

/**
 * Calls with the paths that have changed, all of them at first; once at a time, and again for what changes meanwhile.
 *
 * @returns stops, and waits for a call in flight
 */
export function watchFiles(
  watched: Watched,
  onChange: (paths: ReadonlySet<string>) => Promise<void>,
): () => Promise<void> {
  let known = new Map<string, string>()
  let calling: Promise<void> | undefined
  const look = () => {
    if (calling !== undefined) return
    const found = readVersions(watched)
    const paths = [...new Set([...known.keys(), ...found.keys()])]
    const changed = paths.filter((path) => known.get(path) !== found.get(path))
    known = found
    if (changed.length === 0) return
    calling = onChange(new Set(changed)).finally(() => {
      calling = undefined
    })
  }
  const timer = setInterval(look, lookMs)
  look()
  return async () => {
    clearInterval(timer)
    await calling
  }
}

function readVersions({ files, folders }: Watched): Map<string, string> {
  const paths = [...files, ...folders.flatMap(listFolder)]
  return new Map(
    paths.flatMap((path) => {
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat?.isFile() === true ? [[path, `${stat.mtimeMs} ${stat.size} ${stat.ino}`] as const] : []
    }),
  )
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    // It may be made later.
    return []
  }
}
