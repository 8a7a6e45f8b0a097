import type { TestApp } from './test-app.ts'

export interface ServedRoute {
  readonly method: string
  /** Path as declared: `/api/collections/:table`. */
  readonly url: string
}

/**
 * Lists every route of the running server except OPTIONS, which all paths have. The list is read from Fastify's own
 * tree, so that none is missing.
 */
export function listRoutes({ app }: TestApp): ServedRoute[] {
  const parents: string[] = []
  return (
    app.http
      // Without common prefixes, Fastify leaves out the prefix of a wildcard.
      .printRoutes({ commonPrefix: true })
      .split('\n')
      .flatMap((line) => {
        const found = /^((?:[│ ] {3}|[├└]── )*)(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line)
        const [, indent = '', part = '', methods] = found ?? []
        if (part === '') return []
        const depth = Math.max(0, indent.length / 4 - 1)
        const url = (parents[depth - 1] ?? '') + part
        parents.length = depth
        parents[depth] = url
        return (methods ?? '')
          .split(', ')
          .flatMap((method) => (method === '' || method === 'OPTIONS' ? [] : [{ method, url }]))
      })
  )
}

/** Returns a path that the route matches. */
export function examplePath(url: string): string {
  return url
    .replace(/:table/g, 'note')
    .replace('/guides/:name', '/guides/collections')
    .replace('/guides/images/:name', '/guides/images/dashboard-rows.webp')
    .replace(/:\w+/g, '1')
    .replace(/\*$/, '1')
}

/** Returns the sorted methods of all routes that match the path: `/api/collections/note/batch` is also a record. */
export function methodsOf(routes: readonly ServedRoute[], path: string): string[] {
  const methods = routes.filter(({ url }) => toPattern(url).test(path)).map(({ method }) => method)
  return [...new Set(methods)].sort()
}

/**
 * Returns the methods of `Allow`. Routes with named first segments take precedence over those with parameters.
 */
export function allowedOn(routes: readonly ServedRoute[], path: string): string[] {
  const rank = (url: string) => url.replace(/[^/:*][^/]*/g, 'z').replace(/:\w+/g, 'y')
  const matching = routes.filter(({ url }) => toPattern(url).test(path))
  const [first = ''] = matching
    .map(({ url }) => rank(url))
    .sort()
    .reverse()
  return methodsOf(
    matching.filter(({ url }) => rank(url) === first),
    path,
  )
}

function toPattern(url: string): RegExp {
  return new RegExp(`^${url.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+').replace(/\*$/, '.+')}$`)
}
