import type { FunctionDescription } from './messages.ts'

/** Function that serves a path, and the parameters of the path. */
export interface RouteMatch {
  readonly function: FunctionDescription
  readonly params: Readonly<Record<string, string>>
}

interface Route {
  readonly description: FunctionDescription
  readonly segments: readonly string[]
}

/** Routes of the functions. A fixed segment precedes a parameter. */
export class RouteTable {
  readonly #routes: readonly Route[]

  constructor(functions: readonly FunctionDescription[]) {
    this.#routes = functions
      .map((description) => ({ description, segments: segmentsOf(description.path) }))
      .toSorted((one, other) => compare(formOf(one), formOf(other)))
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
}

/** Returns problems of routes that the server cannot distinguish. */
export function findConflicts(functions: readonly FunctionDescription[]): string[] {
  const names = new Map<string, string>()
  const addresses = new Map<string, string>()
  return functions.flatMap(({ name, method, path, file }) => {
    const address = `${method} ${path.replace(/:[^/]+/g, ':')}`
    const [sameName, sameAddress] = [names.get(name), addresses.get(address)]
    names.set(name, file)
    addresses.set(address, file)
    return [
      ...(sameName === undefined ? [] : [`${file}: ${sameName} has a function with the name ${name}, too`]),
      ...(sameAddress === undefined ? [] : [`${file}: ${sameAddress} serves ${method} ${path}, too`]),
    ]
  })
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function formOf({ segments }: Route): string {
  return segments.map((segment) => (segment.startsWith(':') ? 'b' : 'a')).join('')
}

function compare(one: string, other: string): number {
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
