// The child imports this file, so it imports nothing: the child may not read the packages of the server.

/** Kinds of which there is at most one function. */
export const singleKinds = ['onSignUp', 'claims', 'sendMail'] as const
export type SingleKind = (typeof singleKinds)[number]
