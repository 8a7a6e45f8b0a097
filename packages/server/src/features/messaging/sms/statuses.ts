/** Stages of a sent message, in the order in which they become known. */
const stages = [
  ['pending'],
  ['accepted'],
  ['queued'],
  ['sending'],
  ['sent'],
  ['delivered', 'undelivered', 'failed', 'canceled'],
] as const

export type SmsStatus = (typeof stages)[number][number]

export const smsStatuses: readonly SmsStatus[] = stages.flat()

/**
 * Returns the statuses that a message may have had before this one. Callbacks arrive in any order and more
 * than once.
 */
export function statusesBefore(status: SmsStatus): readonly SmsStatus[] {
  const stage = stages.findIndex((members) => (members as readonly SmsStatus[]).includes(status))
  return stages.slice(0, stage).flat()
}

export function isSmsStatus(text: string): text is SmsStatus {
  return (smsStatuses as readonly string[]).includes(text)
}
