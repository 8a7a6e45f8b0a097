import type { FastifyInstance } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'

/**
 * Collects every route, so that a path with the wrong method gets 405 with `Allow`. Fastify itself only knows
 * "not found". The most specific route that matches a path decides. So `Allow` of `…/batch` does not name the
 * methods of a record with that name.
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
      // Every path responds to OPTIONS; a route of its own only adds headers.
      if (method === 'OPTIONS') continue
      methods.add(method)
      routes.push({ method, url: route.url })
    }
  })
  return (path) => {
    // The router is built at the first wrong method, which rarely comes.
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

/** Encodes how the segments of a route match. The more specific of two routes for one path compares greater. */
function formOf(url: string): string {
  const segments = url.split('/').filter((segment) => segment !== '')
  return segments.map((segment) => (segment === '*' ? 'a' : segment.startsWith(':') ? 'b' : 'c')).join('')
}
