/** Suffixes of the names of a table's components in addition to its record, such as `TrackCreate`. */
export const componentSuffixes = [
  'Create',
  'Update',
  'Page',
  'UpdateResult',
  'DeleteResult',
  'Batch',
] as const

/**
 * Names components after tables: `playlist_track` is `PlaylistTrack`. Names consist of ASCII letters and
 * digits, which OpenAPI (3.1 §4.8.7) and every language accept. They differ in more than the case of letters,
 * because generated files may have to.
 * A name of a static component or operation group gets the suffix `Record`. If several tables have the same
 * name, the first keeps it, with those in plain snake case before others, and the next ones get a number.
 *
 * @param reserved names of static components and operation groups
 */
export function nameComponents(
  collections: readonly string[],
  reserved: Iterable<string>,
): ReadonlyMap<string, string> {
  const fixed = new Set(Array.from(reserved, (name) => name.toLowerCase()))
  const used = new Set<string>()
  const namesOf = (name: string) =>
    ['', ...componentSuffixes].map((suffix) => `${name}${suffix}`.toLowerCase())
  const isPlain = (collection: string) => /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(collection)
  const ordered = [
    ...collections.filter(isPlain),
    ...collections.filter((collection) => !isPlain(collection)),
  ]
  const names = new Map<string, string>()
  for (const collection of ordered) {
    const plain = pascalCase(collection)
    const isFixed = namesOf(plain).some((each) => fixed.has(each))
    const base = isFixed ? `${plain}Record` : plain
    let name = base
    const isUsed = (each: string) => used.has(each) || fixed.has(each)
    for (let number = 2; namesOf(name).some(isUsed); number += 1) name = `${base}${number}`
    for (const each of namesOf(name)) used.add(each)
    names.set(collection, name)
  }
  return names
}

function pascalCase(collection: string): string {
  const words = collection
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^A-Za-z0-9]+/)
  const name = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('')
  return /^[A-Z]/.test(name) ? name : `Table${name}`
}
