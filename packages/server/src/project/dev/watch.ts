import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Files, and folders with the files below them, which need not exist. */
export interface Watched {
  readonly files: readonly string[]
  readonly folders: readonly string[]
}

/**
 * Interval at which the files are checked. Checking a few dozen takes less than a millisecond. It misses no way
 * in which editors replace a file, on any file system.
 */
const checkMs = 100

/**
 * Calls the listener with the changed paths, at first with all of them. Calls do not overlap; changes during a
 * call cause another one.
 *
 * @returns a function that stops, and waits for a call in flight
 */
export function watchFiles(
  watched: Watched,
  onChange: (paths: ReadonlySet<string>) => Promise<void>,
): () => Promise<void> {
  let known = new Map<string, string>()
  let calling: Promise<void> | undefined
  const check = () => {
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
  const timer = setInterval(check, checkMs)
  check()
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
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (!entry.isDirectory()) return [path]
      return entry.name === 'node_modules' ? [] : listFolder(path)
    })
  } catch {
    // The folder may be created later.
    return []
  }
}
