/**
 * Names for things in the document by collection. OpenAPI allows component names of ASCII letters, digits, `.`, `-`
 * and `_` only (OpenAPI 3.1 §4.8.7); names that would become the same get a number. A name that is already fine stays
 * as it is, whatever else there is, so that generated clients do not change with tables they do not use.
 */
export function nameComponents(collections: readonly string[]): ReadonlyMap<string, string> {
  const isFine = (name: string) => /^[A-Za-z0-9_]+$/.test(name)
  const taken = new Set(collections.filter(isFine))
  return new Map(
    collections.map((collection) => {
      if (isFine(collection)) return [collection, collection]
      const plain = collection.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\W+/g, '_')
      let name = plain
      for (let number = 2; taken.has(name); number += 1) name = `${plain}_${number}`
      taken.add(name)
      return [collection, name]
    }),
  )
}
