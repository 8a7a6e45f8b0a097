import type { FastifyInstance } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'

/**
 * Remembers every route so that a path with the wrong method can be answered 405 with `Allow`; Fastify itself
 * only knows "not found".
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
        if (!built.hasRoute(method as HTTPMethod, url)) built.on(method as HTTPMethod, url, () => undefined)
        return built
      },
      createRouter({ ignoreTrailingSlash: true, maxParamLength }),
    )
    return [...methods].filter((method) => router?.find(method as HTTPMethod, path) != null).sort()
  }
}
