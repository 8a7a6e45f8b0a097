import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import {
  advanceStatus,
  insertMessage,
  isMessageKnown,
  keepReport,
  markNotTaken,
  markTaken,
  type SmsMessage,
  type StatusReport,
  takeReports,
} from './message.ts'
import type { SmsProvider, TextMessage } from './provider.ts'

export interface StoredSmsDeps {
  readonly database: SystemDatabase
  readonly provider: SmsProvider
  readonly providerName: string
}

/** Sends text messages and keeps what became of them. */
export class StoredSms {
  readonly #deps: StoredSmsDeps

  constructor(deps: StoredSmsDeps) {
    this.#deps = deps
  }

  /** For messages with codes, which are not stored. One that the provider has taken is not sent again. */
  readonly codes: SmsProvider = {
    send: async (message, { id } = {}) => {
      const row = await this.#send(message, { body: withoutCodes(message.body), key: id })
      return { messageId: row?.message_id ?? undefined }
    },
  }

  /** @throws what the provider throws */
  async send(message: TextMessage, userId?: string): Promise<SmsMessage | undefined> {
    return await this.#send(message, { body: message.body, userId })
  }

  async #send(
    message: TextMessage,
    stored: {
      readonly body: string
      readonly userId?: string | undefined
      readonly key?: string | undefined
    },
  ): Promise<SmsMessage | undefined> {
    const { database, provider, providerName } = this.#deps
    // Before it is sent: no message leaves without a row, whatever stops the process.
    const row = await insertMessage(database, {
      to: message.to,
      body: stored.body,
      provider: providerName,
      userId: stored.userId,
      key: stored.key,
    })
    if (row === undefined) return undefined
    try {
      const { messageId } = await provider.send(message, { id: stored.key ?? row.id })
      const taken = await markTaken(database, row.id, messageId)
      if (messageId !== undefined) await applyReports(database, { provider: providerName, messageId })
      return taken
    } catch (error) {
      await markNotTaken(database, row.id, messageOf(error))
      throw error
    }
  }
}

/**
 * Moves a message on by what its provider reports. A report may come before the answer to the message is stored: it is
 * kept first and the message looked for again, while {@link applyReports} looks for reports after the message is known.
 * Whichever is later finds the other.
 */
export async function takeReport(database: SystemDatabase, report: StatusReport): Promise<void> {
  if ((await advanceStatus(database, report)) > 0 || (await isMessageKnown(database, report))) return
  await keepReport(database, report)
  if (await isMessageKnown(database, report)) await applyReports(database, report)
}

async function applyReports(
  database: SystemDatabase,
  message: { readonly provider: string; readonly messageId: string },
): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const { status, error_message } of await takeReports(transaction, message)) {
      const { provider, messageId } = message
      await advanceStatus(transaction, { provider, messageId, status, error: error_message ?? undefined })
    }
  })
}

/** `Your code is: 482913` → `Your code is: [redacted]`. */
function withoutCodes(body: string): string {
  return body.replace(/\d{4,}/g, '[redacted]')
}
