import type { FastifyInstance } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'

/**
 * Remembers every route so that a path with the wrong method can be answered 405 with `Allow`; Fastify itself
 * only knows "not found". Of several routes that match a path the most specific one decides: `Allow` of `…/batch` does
 * not name the methods that would act on a record of that name.
 */
export function indexRoutes(
  app: FastifyInstance,
  maxParamLength: number,
): (path: string) => readonly string[] {
  const methods = new Set<string>()
  const routes: { method: string; url: string }[] = []
  let router: ReturnType<typeof createRouter> | undefined
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      // Every path answers it; a route of it only adds headers.
      if (method === 'OPTIONS') continue
      methods.add(method)
      routes.push({ method, url: route.url })
    }
  })
  return (path) => {
    // Built when the first wrong method comes, which on most days is never.
    router ??= routes.reduce(
      (built, { method, url }) => {
        if (!built.hasRoute(method as HTTPMethod, url)) {
          built.on(method as HTTPMethod, url, () => undefined, { form: formOf(url) })
        }
        return built
      },
      createRouter({ ignoreTrailingSlash: true, maxParamLength }),
    )
    const matches = [...methods].flatMap((method) => {
      const store: unknown = router?.find(method as HTTPMethod, path)?.store
      return store === undefined ? [] : [{ method, form: (store as { form: string }).form }]
    })
    const best = matches
      .map(({ form }) => form)
      .sort()
      .at(-1)
    return matches.flatMap(({ method, form }) => (form === best ? [method] : [])).sort()
  }
}

/** Segments of a route by how they match, such that the more specific of two that match one path compares greater. */
function formOf(url: string): string {
  const segments = url.split('/').filter((segment) => segment !== '')
  return segments.map((segment) => (segment === '*' ? 'a' : segment.startsWith(':') ? 'b' : 'c')).join('')
}
