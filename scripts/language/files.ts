import { execFileSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Files without prose of ours: generated, applied already, or written by others. */
const excluded = [
  /^docs\/generated\//,
  /^packages\/server\/migrations\//,
  /^packages\/dashboard\/src\/api\/operations\.ts$/,
  /(^|\/)node_modules\//,
  /(^|\/)package(-lock)?\.json$/,
  /(^|\/)LICENSE/,
]

const extensions =
  /\.(?:ts|tsx|js|md|css|toml|yaml|py|go|sql|conf|service)$|(?:^|\/)(?:Dockerfile|\.ci\/run)$/

/** Lists the files below the paths that git knows or would add, relative to the root; all of them without a path. */
export function listFiles(root: string, paths: readonly string[]): string[] {
  const inside = paths.map((path) => relative(root, path) || '.')
  const output = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...inside],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 },
  )
  return [...new Set(output.split('\0'))].filter(
    (file) =>
      extensions.test(file) && !excluded.some((pattern) => pattern.test(file)) && isFile(join(root, file)),
  )
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}
