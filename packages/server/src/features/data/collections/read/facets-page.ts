import type { FacetsPlan } from '../plan/facets.ts'

/**
 * The members of a list that its facets make, each with a comma in front, from what `compileFacets` answers.
 * `facetsExhaustive` is there only when values were left out.
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
