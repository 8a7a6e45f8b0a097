/** Checks at compile time that a value has exactly this type. */
export function typed<Expected>() {
  return <Actual>(actual: Actual, ..._same: Same<Expected, Actual>): Actual => actual
}

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : ['the types differ']
