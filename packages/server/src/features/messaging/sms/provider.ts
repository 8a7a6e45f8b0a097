/** Text message to send. */
export interface TextMessage {
  /** Recipient in E.164 form: `+14155550132`. */
  readonly to: string
  readonly body: string
}

/** Sender of text messages. */
export interface SmsProvider {
  /**
   * Sends a message to the provider, without waiting for its delivery.
   *
   * @param options.id the same for every attempt to send one message, and never for another body: a provider
   * that knows the id sends nothing again, or refuses. At most 255 letters, digits and `-_:`.
   * @throws SmsRefused when the provider will never accept this message
   * @throws Error when another attempt may succeed: no connection, no response in time, too many messages, a
   * fault of the provider
   */
  send(message: TextMessage, options?: { readonly id?: string }): Promise<Receipt>
}

/** Response of the provider to an accepted message. */
export interface Receipt {
  /** Id of the message at the provider. Undefined when it names none. */
  readonly messageId: string | undefined
}

/** Error for a message that the provider will never accept. Its text contains no credential, number or code. */
export class SmsRefused extends Error {
  override readonly name = 'SmsRefused'
}
