import type { FacetsPlan } from '../plan/facets.ts'

/**
 * Formats the facet members of a list, each with a comma in front, from the columns that `compileFacets` returns.
 * `facetsExhaustive` is present only when values were left out.
 */
export function formatFacets({ facets }: FacetsPlan, columns: readonly (string | null)[]): string {
  const values: string[] = []
  const stats: string[] = []
  const cut: string[] = []
  facets.forEach(({ column }, index) => {
    const [buckets = '[]', isExhaustive, statistics = null] = columns.slice(3 * index)
    const name = JSON.stringify(column.name)
    values.push(`${name}:${buckets}`)
    if (statistics !== null) stats.push(`${name}:${statistics}`)
    if (isExhaustive === 'f') cut.push(`${name}:false`)
  })
  return [
    `,"facets":{${values.join()}}`,
    stats.length === 0 ? '' : `,"facetStats":{${stats.join()}}`,
    cut.length === 0 ? '' : `,"facetsExhaustive":{${cut.join()}}`,
  ].join('')
}
