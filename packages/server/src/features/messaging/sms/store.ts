import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import {
  advanceStatus,
  consumeReports,
  insertMessage,
  isMessageKnown,
  keepReport,
  markAccepted,
  markRejected,
  type SmsMessage,
  type StatusReport,
} from './message.ts'
import type { SmsProvider, TextMessage } from './provider.ts'

export interface StoredSmsDeps {
  readonly database: SystemDatabase
  readonly provider: SmsProvider
  readonly providerName: string
}

/** Store of text messages, which sends them and records their status. */
export class StoredSms {
  readonly #deps: StoredSmsDeps

  constructor(deps: StoredSmsDeps) {
    this.#deps = deps
  }

  /**
   * Provider for messages with codes, which are not stored. A message that the provider has accepted is not
   * sent again.
   */
  readonly codes: SmsProvider = {
    send: async (message, { id } = {}) => {
      const row = await this.#send(message, { body: withoutCodes(message.body), key: id })
      return { messageId: row?.message_id ?? undefined }
    },
  }

  /** Sends a message. @throws the error of the provider */
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
    // The row is inserted before sending, so that no message leaves without a row, whatever stops the process.
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
      const accepted = await markAccepted(database, row.id, messageId)
      if (messageId !== undefined) await applyReports(database, { provider: providerName, messageId })
      return accepted
    } catch (error) {
      await markRejected(database, row.id, messageOf(error))
      throw error
    }
  }
}

/**
 * Applies a provider report to its message. A report may arrive before the response to the message is stored.
 * So the report is stored first, and then the message is looked up again. {@link applyReports} looks up
 * reports after the message is known. The later of the two finds the other.
 */
export async function applyReport(database: SystemDatabase, report: StatusReport): Promise<void> {
  if ((await advanceStatus(database, report)) > 0 || (await isMessageKnown(database, report))) return
  await keepReport(database, report)
  if (await isMessageKnown(database, report)) await applyReports(database, report)
}

async function applyReports(
  database: SystemDatabase,
  message: { readonly provider: string; readonly messageId: string },
): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const { status, error_message } of await consumeReports(transaction, message)) {
      const { provider, messageId } = message
      await advanceStatus(transaction, { provider, messageId, status, error: error_message ?? undefined })
    }
  })
}

/** Redacts codes: `Your code is: 482913` → `Your code is: [redacted]`. */
function withoutCodes(body: string): string {
  return body.replace(/\d{4,}/g, '[redacted]')
}
