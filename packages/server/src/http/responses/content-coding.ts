/** Codings that a file may be stored in, the smallest first. */
export const codings = ['br', 'gzip'] as const
export type Coding = (typeof codings)[number]

/** Returns the stored coding that the client prefers (RFC 9110 §12.5.3); undefined for the file as it is. */
export function chooseCoding(accepted: string | undefined, stored: readonly Coding[]): Coding | undefined {
  if (accepted === undefined) return undefined
  const weights = new Map(
    accepted.split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
      const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
      return [name, weight === undefined ? 1 : Number(weight)]
    }),
  )
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const [best] = stored.filter((name) => weightOf(name) > 0).toSorted((a, b) => weightOf(b) - weightOf(a))
  return best
}
