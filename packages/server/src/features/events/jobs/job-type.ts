/** What one kind of job is and does. */
export interface JobType<Payload extends object> {
  /** `accounts.send_mail` */
  readonly name: string
  /** Attempts after the first. */
  readonly retries: number
  /** Seconds before the second attempt; they double up to `retryDelayMax`. */
  readonly retryDelay: number
  readonly retryDelayMax: number
  /** Seconds one attempt may take. */
  readonly timeout: number
  /** What is wrong with a payload that an administrator gave, if anything is. */
  readonly findProblem?: (payload: Readonly<Record<string, unknown>>) => string | undefined
  /**
   * Does the job. It may be begun again after a crash, so what it does must be safe to repeat. What it throws is kept
   * with the job and must hold no secret; a {@link JobRefused} ends the retries.
   */
  handle(payload: Payload, job: RunningJob): Promise<void>
}

export interface RunningJob {
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  /** Aborted when the attempt takes too long or the server stops. */
  readonly signal: AbortSignal
}

/** Thrown by a handler whose job can never succeed. */
export class JobRefused extends Error {
  override readonly name = 'JobRefused'
}
