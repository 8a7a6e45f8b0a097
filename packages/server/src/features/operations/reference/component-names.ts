/** Ends of the names of components that a table has beside its record, such as `TrackCreate`. */
export const componentSuffixes = [
  'Create',
  'Update',
  'Page',
  'UpdateResult',
  'DeleteResult',
  'Batch',
] as const

/**
 * Names components after tables: `playlist_track` is `PlaylistTrack`. Names are of ASCII letters and digits, which OpenAPI
 * (3.1 §4.8.7) and every language take. They differ in more than the case of letters, since generated files may not.
 *
 * A name that a component of every server has, or an operation begins with, ends with `Record`. Of tables whose
 * components would have one name, the first keeps it, those in plain snake case before others; the next get a number.
 *
 * @param reserved names of components and groups of operations that every server has
 */
export function nameComponents(
  collections: readonly string[],
  reserved: Iterable<string>,
): ReadonlyMap<string, string> {
  const fixed = new Set(Array.from(reserved, (name) => name.toLowerCase()))
  const taken = new Set<string>()
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
    const isTaken = (each: string) => taken.has(each) || fixed.has(each)
    for (let number = 2; namesOf(name).some(isTaken); number += 1) name = `${base}${number}`
    for (const each of namesOf(name)) taken.add(each)
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
