/** Something that a request passes before policies are asked. */
export interface Gate {
  readonly name: string
  readonly verdict: 'passes' | 'stops'
  readonly sentence: string
}

export function gate(name: string, passes: boolean, sentence: string): Gate {
  return { name, verdict: passes ? 'passes' : 'stops', sentence }
}

/** The first that stops the request. */
export function stopping(gates: readonly Gate[]): Gate | undefined {
  return gates.find(({ verdict }) => verdict === 'stops')
}
