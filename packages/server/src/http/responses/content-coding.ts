/** Codings that a file may be stored in, the smallest first. */
export const codings = ['br', 'gzip'] as const
export type Coding = (typeof codings)[number]

/** Codings that a response can be compressed with, the cheapest first. */
export const responseCodings = ['zstd', 'br', 'gzip'] as const
export type ResponseCoding = (typeof responseCodings)[number]

/** Returns the coding that the client prefers (RFC 9110 §12.5.3); undefined for the content as it is. */
export function chooseCoding<Name extends string>(
  accepted: string | undefined,
  available: readonly Name[],
): Name | undefined {
  if (accepted === undefined) return undefined
  const weights = weightsOf(accepted)
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const [best] = available.filter((name) => weightOf(name) > 0).toSorted((a, b) => weightOf(b) - weightOf(a))
  return best
}

/** Returns whether the client rejects content without a coding. */
export function refusesIdentity(accepted: string | undefined): boolean {
  if (accepted === undefined) return false
  const weights = weightsOf(accepted)
  return (weights.get('identity') ?? weights.get('*')) === 0
}

function weightsOf(accepted: string): ReadonlyMap<string, number> {
  return new Map(
    accepted.split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
      const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
      return [name, weight === undefined ? 1 : Number(weight)]
    }),
  )
}
