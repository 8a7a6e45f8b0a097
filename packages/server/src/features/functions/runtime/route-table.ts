import type { RouteDescription } from './messages.ts'

/** Function that serves a path, and the parameters of the path. */
export interface RouteMatch {
  readonly function: RouteDescription
  readonly params: Readonly<Record<string, string>>
}

interface Route {
  readonly description: RouteDescription
  readonly segments: readonly string[]
}

/** Routes of the functions. A fixed segment precedes a parameter. */
export class RouteTable {
  readonly #routes: readonly Route[]

  constructor(functions: readonly RouteDescription[]) {
    this.#routes = functions
      .map((description) => ({ description, segments: segmentsOf(description.path) }))
      .toSorted((one, other) => compare(formOf(one), formOf(other)))
  }

  /** Functions of the table. */
  get routes(): readonly RouteDescription[] {
    return this.#routes.map(({ description }) => description)
  }

  /** Returns the function with a name. */
  named(name: string): RouteDescription | undefined {
    return this.#routes.find(({ description }) => description.name === name)?.description
  }

  /** Returns the function for a method and a path, which is still percent-encoded. */
  find(method: string, path: string): RouteMatch | undefined {
    const segments = segmentsOf(path)
    for (const route of this.#routes) {
      if (route.description.method !== method || route.segments.length !== segments.length) continue
      const params = match(route.segments, segments)
      if (params !== undefined) return { function: route.description, params }
    }
    return undefined
  }

  /** Returns the function with a name, unless its path has parameters. */
  findNamed(method: string, name: string): RouteMatch | undefined {
    const found = this.#routes.find(
      ({ description }) => description.name === name && description.method === method,
    )
    if (found === undefined || found.segments.some((segment) => segment.startsWith(':'))) return undefined
    return { function: found.description, params: {} }
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function formOf({ segments }: Route): string {
  return segments.map((segment) => (segment.startsWith(':') ? 'b' : 'a')).join('')
}

/** Compares texts by their code units, on every machine alike. */
export function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Returns the parameters; undefined if a fixed segment differs, or the encoding of one is invalid. */
function match(
  route: readonly string[],
  path: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const params: [string, string][] = []
  for (const [index, segment] of route.entries()) {
    const value = decode(path[index] ?? '')
    if (value === undefined) return undefined
    if (segment.startsWith(':')) params.push([segment.slice(1), value])
    else if (segment !== value) return undefined
  }
  return Object.fromEntries(params)
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
