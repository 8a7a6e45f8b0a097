import { JobRefused } from '../../../job-queue.ts'
import type { MailBackend, MailMessage, SendOptions } from './backend.ts'
import { MailRefused } from './refusal.ts'

/** Sends the mail of a job. @throws JobRefused when it never will be accepted */
export async function sendInJob(
  backend: MailBackend,
  message: MailMessage,
  options: SendOptions,
): Promise<void> {
  try {
    await backend.send(message, options)
  } catch (error) {
    throw error instanceof MailRefused ? new JobRefused(error.message) : error
  }
}
