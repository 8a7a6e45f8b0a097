/** Words that begin neither the name of a component nor an outcome. */
const never =
  /^(?:what|of|those|whether|by|how|who|whom|whose|whoever|whatever|why|where|which|that|nobody|somebody)\b/i
const article = /^(?:an?|the)\s/i

/** Rejects titles of suites that name no component, and titles of tests that begin with their object. */
export function checkTitle(title: string, medium: 'suite' | 'test'): string | undefined {
  const first = title.split(' ')[0] ?? ''
  if (never.test(title)) return `a title begins with "${first}"`
  if (!article.test(title)) return undefined
  return medium === 'suite'
    ? `"${first}": a suite is named by the endpoint or the component`
    : `"${first}": a test's title begins with a verb (returns, rejects, retries)`
}
