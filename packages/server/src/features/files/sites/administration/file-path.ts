import { siteErrors } from '../errors.ts'

const maxBytes = 1024

/**
 * Returns the path of a file within a site: without empty and `.` segments, in the composed form of Unicode (NFC),
 * which browsers request.
 *
 * @throws AppError file_name_required, file_name_not_relative, file_name_outside, invalid_file_name
 */
export function readFilePath(name: string): string {
  if (name.trim() === '') throw siteErrors.fileNameRequired()
  if (/^(\/|\\|[a-z]:[\\/])/i.test(name)) throw siteErrors.fileNameNotRelative()
  const segments = name.split(/[/\\]/)
  if (segments.includes('..')) throw siteErrors.fileNameOutside()
  if (/[\\\p{Cc}]/u.test(name) || !name.isWellFormed()) throw siteErrors.invalidFileName()
  if (['', '.'].includes(segments.at(-1) ?? '')) throw siteErrors.fileNameRequired()
  const path = segments
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
    .normalize('NFC')
  if (Buffer.byteLength(path) > maxBytes) throw siteErrors.invalidFileName()
  return path
}
