import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import { insertMessage, type MessageRow, markNotTaken, markTaken } from './messages.ts'
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
  async send(message: TextMessage, userId?: string): Promise<MessageRow | undefined> {
    return await this.#send(message, { body: message.body, userId })
  }

  async #send(
    message: TextMessage,
    stored: {
      readonly body: string
      readonly userId?: string | undefined
      readonly key?: string | undefined
    },
  ): Promise<MessageRow | undefined> {
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
      return await markTaken(database, row.id, messageId)
    } catch (error) {
      await markNotTaken(database, row.id, messageOf(error))
      throw error
    }
  }
}

/** `Your code is: 482913` → `Your code is: [redacted]`. */
function withoutCodes(body: string): string {
  return body.replace(/\d{4,}/g, '[redacted]')
}
