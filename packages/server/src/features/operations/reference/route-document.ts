import { type DocumentedRoute, describeRoutes, routesTag } from './described-routes.ts'
import type { StaticDocument } from './document-parts.ts'

/** Returns the document with routes of functions. This function is pure. */
export function addRoutes(document: StaticDocument, routes: readonly DocumentedRoute[]): StaticDocument {
  const { info, tags, paths, components } = document
  const described = describeRoutes(document, routes, Object.keys(components.schemas))
  const note = ` ${described.omitted} more functions are served and not described here.`
  const own = Array.from(
    described.paths,
    ([path, methods]) => [path, { ...paths[path], ...methods }] as const,
  )
  return {
    ...document,
    info: described.omitted === 0 ? info : { ...info, description: `${info.description ?? ''}${note}` },
    tags: [routesTag, ...tags],
    paths: { ...Object.fromEntries(own), ...withoutPaths(paths, described.paths) },
    components: {
      ...components,
      schemas: {
        ...components.schemas,
        ...(Object.fromEntries(described.schemas) as StaticDocument['components']['schemas']),
      },
    },
  }
}

function withoutPaths(paths: StaticDocument['paths'], others: ReadonlyMap<string, unknown>) {
  return Object.fromEntries(Object.entries(paths).filter(([path]) => !others.has(path)))
}
