/**
 * Merges metrics of several processes in the Prometheus text format. Samples of one metric must follow its `HELP`
 * and `TYPE`, which are there once.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { readonly head: string; readonly samples: string[] }>()
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const [, head = '', name = '', samples = ''] =
      /^(# HELP (\S+).*\n# TYPE .*\n)([\s\S]*)$/.exec(block) ?? []
    if (name === '') continue
    const family = families.get(name) ?? { head, samples: [] }
    families.set(name, family)
    family.samples.push(samples.trim())
  }
  return [...families.values()]
    .map(({ head, samples }) => `${head}${samples.filter(Boolean).join('\n')}\n`)
    .join('\n')
}
