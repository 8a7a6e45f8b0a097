export interface MailMessage {
  /** One address without a name. */
  readonly to: string
  readonly subject: string
  readonly html: string
  readonly text: string
  /** Instead of `email.from`. */
  readonly from?: string
  /** Address of replies, instead of the sender. */
  readonly replyTo?: string
}

export interface SendOptions {
  /** Id of the mail, the same at every attempt to send it: receivers recognize a repeated mail by it. */
  readonly id?: string
}

/** Sender of mail. */
export interface MailBackend {
  /**
   * Resolves once the mail has been taken on; that is within a bounded time.
   *
   * @throws MailRefused when it never will be; anything else when it may be at another attempt
   */
  send(message: MailMessage, options?: SendOptions): Promise<void>
  /** Lets what is being sent finish, then closes connections. */
  close(): Promise<void>
}
