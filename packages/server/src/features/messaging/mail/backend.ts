export interface MailMessage {
  /** Recipient, one address without a name. */
  readonly to: string
  readonly subject: string
  readonly html: string
  readonly text: string
  /** Sender, instead of `email.from`. */
  readonly from?: string
  /** Address of replies, instead of the sender. */
  readonly replyTo?: string
}

export interface SendOptions {
  /** Id of the mail, the same at every attempt to send it. Receivers recognize a repeated mail by it. */
  readonly id?: string
}

/** Sender of mail. */
export interface MailBackend {
  /**
   * Sends a mail. Resolves once the mail has been accepted, within a bounded time.
   *
   * @throws MailRefused when it never will be; any other error when another attempt may succeed
   */
  send(message: MailMessage, options?: SendOptions): Promise<void>
  /** Waits for mails in flight, then closes connections. */
  close(): Promise<void>
}
