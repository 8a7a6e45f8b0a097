import { createStore, waitFor } from './store.ts'

/** State of the proof that a sensitive operation requires. */
export type StepUpState = 'idle' | 'open' | 'cancelled'

/** Dialog for a second factor. Requests that need one wait for it. */
export const stepUpState = createStore<StepUpState>('idle')

/** Opens the dialog and waits for it. @returns false if the person has cancelled */
export async function requestStepUp(signal?: AbortSignal): Promise<boolean> {
  stepUpState.set('open')
  await waitFor(stepUpState, (state) => state !== 'open', signal)
  return stepUpState.get() === 'idle'
}
