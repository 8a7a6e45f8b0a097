import { collectionErrors } from '../errors.ts'

/** One item: names in double quotes may hold anything (`""` is a quote), bare ones anything but comma and quote. */
const item = /\s*([+-]?)(?:"((?:[^"]|"")+)"|([^",]+?))\s*(?:,|$)/y

export interface PrefixedName {
  readonly prefix: '' | '+' | '-'
  readonly name: string
}

/**
 * Splits a comma-separated list of names, each perhaps with a sign. An empty list is empty.
 *
 * @throws AppError invalid_parameter
 */
export function parsePrefixedNames(text: string, parameter: string): PrefixedName[] {
  if (text.trim() === '') return []
  const names: PrefixedName[] = []
  for (item.lastIndex = 0; item.lastIndex < text.length; ) {
    const start = item.lastIndex
    const match = item.exec(text)
    if (match === null) {
      throw collectionErrors.invalidParameter(
        `${parameter}: expected comma-separated names, at position ${start}`,
      )
    }
    const [, prefix = '', quoted, bare] = match
    // The pattern allows exactly these prefixes.
    names.push({
      prefix: prefix as PrefixedName['prefix'],
      name: quoted?.replaceAll('""', '"') ?? bare ?? '',
    })
  }
  if (/,\s*$/.test(text)) {
    throw collectionErrors.invalidParameter(`${parameter}: expected a name after the last comma`)
  }
  return names
}

/** The same without signs. */
export function parseNames(text: string, parameter: string): string[] {
  return parsePrefixedNames(text, parameter).map(({ prefix, name }) => prefix + name)
}
