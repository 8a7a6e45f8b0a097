/** States of a job as the API names them. */
export const jobStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const
export type JobState = (typeof jobStates)[number]

/** States of a row of the queue. */
export type StoredState = 'created' | 'retry' | 'active' | 'completed' | 'cancelled' | 'failed'

const shown: Readonly<Record<StoredState, JobState>> = {
  created: 'queued',
  retry: 'queued',
  active: 'running',
  completed: 'completed',
  cancelled: 'canceled',
  failed: 'failed',
}

export function showState(stored: StoredState): JobState {
  return shown[stored]
}

export function isJobState(text: string): text is JobState {
  return (jobStates as readonly string[]).includes(text)
}

/** The states of rows that a state of the API stands for. */
export function storedStates(state: JobState): StoredState[] {
  // The keys of the table are the states of rows.
  return (Object.keys(shown) as StoredState[]).filter((stored) => shown[stored] === state)
}
