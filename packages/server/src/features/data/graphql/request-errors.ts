import type { GraphQLFormattedError } from 'graphql'

/** Faults of a request: nothing of it was run. */
export class RequestErrors extends Error {
  readonly errors: readonly { toJSON(): GraphQLFormattedError }[]

  constructor(errors: readonly { readonly message: string; toJSON(): GraphQLFormattedError }[]) {
    super(errors[0]?.message ?? '')
    this.errors = errors
  }
}
