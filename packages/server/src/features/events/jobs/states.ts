/** States of a job. */
export const jobStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const
export type JobState = (typeof jobStates)[number]

export function isJobState(text: string): text is JobState {
  return (jobStates as readonly string[]).includes(text)
}
