/** A text message. */
export interface TextMessage {
  /** E.164: `+14155550132`. */
  readonly to: string
  readonly body: string
}

/** Sends text messages. */
export interface SmsProvider {
  /**
   * Hands a message to the provider; its delivery is not awaited.
   *
   * @param options.id the same for every attempt to send one message, and never for another body: a provider
   *   that knows the id sends nothing again, or refuses. At most 255 letters, digits and `-_:`.
   * @throws SmsRefused when the provider will never take this message
   * @throws Error when another attempt may succeed: no connection, no answer in time, too many messages, a fault
   *   of the provider
   */
  send(message: TextMessage, options?: { readonly id?: string }): Promise<Receipt>
}

/** Response of the provider to an accepted message. */
export interface Receipt {
  /** Id of the message at the provider; undefined when it names none. */
  readonly messageId: string | undefined
}

/** The provider answered that it will never take this message. Its text names no credential, number or code. */
export class SmsRefused extends Error {
  override readonly name = 'SmsRefused'
}
