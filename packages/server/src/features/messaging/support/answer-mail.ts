import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobType } from '../../../job-queue.ts'
import { escapeHtml } from '../../../lib/page.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { type MailBackend, sendInJob } from '../mail/index.ts'
import { findUnmailedAnswer, markMailed } from './message.ts'

export const answerJobName = 'support_answer_mail'

export interface AnswerMailDeps {
  readonly database: SystemDatabase
  readonly backend: MailBackend
  /** Domain that replies are sent to. Empty if replies are not accepted. */
  readonly inboundDomain: string
}

/** Defines the job that mails an answer to the user of its ticket. */
export function answerJob({
  database,
  backend,
  inboundDomain,
}: AnswerMailDeps): JobType<{ readonly message_id: string }> {
  return {
    name: answerJobName,
    retry: { attempts: 11, delay: 5, delayMax: 900, backoff: 2 },
    timeout: 60,
    findProblem: ({ message_id: id }) =>
      typeof id === 'string' && isUuid(id) ? undefined : 'message_id must be an id',
    async handle({ message_id: id }) {
      const answer = await findUnmailedAnswer(database, id)
      if (answer === undefined) return
      const { ticket_id: ticketId, subject, body, email } = answer
      const invitation = inboundDomain === '' ? '' : 'Reply to this mail to answer.'
      await sendInJob(
        backend,
        {
          to: email,
          // Replies name their ticket in the subject.
          subject: `[Ticket #${ticketId}] ${subject}`,
          text: [body, invitation].filter((part) => part !== '').join('\n\n'),
          html: describe([body, invitation]),
          ...(inboundDomain === '' ? {} : { replyTo: `support@${inboundDomain}` }),
        },
        // A crash between sending and recording sends the same mail again.
        { id },
      )
      await markMailed(database, id)
    },
  }
}

function describe(paragraphs: readonly string[]): string {
  const lines = (text: string) => escapeHtml(text).replaceAll('\n', '<br>\n')
  const elements = paragraphs.filter((text) => text !== '').map((text) => `<p>${lines(text)}</p>`)
  return `<!doctype html>\n<html><body>\n${elements.join('\n')}\n</body></html>\n`
}
