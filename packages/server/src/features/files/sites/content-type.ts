import { typeOfExtension } from '../../../lib/media-types.ts'

/** Others that builds have, or that scanners ask for. */
const otherExtensions = [
  'aac',
  'apk',
  'bmp',
  'cjs',
  'eot',
  'gz',
  'jsx',
  'jxl',
  'mov',
  'php',
  'ts',
  'tsx',
  'wav',
  'zip',
]

/** Returns whether the path ends as that of a file does, unlike `/user/john.doe`. */
export function hasFileExtension(path: string): boolean {
  return typeOfExtension(path) !== undefined || otherExtensions.includes(extensionOf(path))
}

function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
}

/** By the extension, else as the upload says, else plain bytes. */
export function contentTypeOf(path: string, given = ''): string {
  const known = typeOfExtension(path)
  if (known !== undefined) return known
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?charset=[\w-]{1,30})?$/.test(given)
    ? given
    : 'application/octet-stream'
}
