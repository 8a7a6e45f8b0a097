/** Thrown by a check that does not apply. Its message is the reason. */
export class CheckSkipped extends Error {}
